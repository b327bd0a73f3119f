package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"patchbay/scripts/locallog"
)

// Around a line of a call: a call lasts no longer than a streaming integration, 15 minutes, and clocks differ a little.
const (
	longestCall = 16 * time.Minute
	clockSkew   = time.Minute
)

// requestID is what a gateway makes as a request's id; a search pattern has a meaning in other characters.
var requestID = regexp.MustCompile(`^[A-Za-z0-9_=-]{8,128}$`)

// Call is what the logs say of one request.
type Call struct {
	// Lines are those of the gateway, the authorizer, the dispatcher and the tool's function, in order of time.
	Lines []locallog.Line
	// Notes say where lines may be missing, and why.
	Notes []string
}

// Call finds the lines of a request, given how far back it may lie. A function's lines are all that its instance wrote
// while it ran the call: what a crash leaves behind knows no request id.
//
// The gateway's line is looked for first, since it says when the call was; the dispatcher's lines say which functions
// ran, and so which logs are searched. tool's function is searched too, when that is not empty: for a dispatcher that
// ended before it wrote its line.
func (t *Target) Call(ctx context.Context, id string, back time.Duration, function string) (Call, error) {
	if !requestID.MatchString(id) {
		return Call{}, fmt.Errorf("request id %.80q; allowed: the id that an answer, an error or a log line names", id)
	}
	now := t.now()
	search := callSearch{Target: t, id: id, from: now.Add(-back), to: now.Add(clockSkew)}
	if err := search.gateway(ctx); err != nil {
		return Call{}, err
	}
	if err := search.authorizer(ctx); err != nil {
		return Call{}, err
	}
	dispatcher, err := search.function(ctx, t.dispatcherLog, search.dispatchers(id)...)
	if err != nil {
		return Call{}, err
	}
	names := functionsIn(dispatcher, id)
	invocations := invocationsIn(dispatcher, id)
	if name := functionName(function); name != "" && !slices.Contains(names, name) {
		names = append(names, name)
	}
	for _, name := range names {
		if _, err := search.function(ctx, functionLog(name), append(invocations, id)...); err != nil {
			return Call{}, err
		}
	}
	slices.SortStableFunc(search.call.Lines, func(a, b locallog.Line) int { return a.Time.Compare(b.Time) })
	if len(names) == 0 && !search.explained(dispatcher) {
		search.note("no line of the dispatcher says how the request ended: the dispatcher may have ended before it wrote " +
			"one; name the tool with --tool to search its log too")
	}
	return search.call, nil
}

// explained reports whether it is known why no function ran: the dispatcher says how the request ended, or never had
// it, since the gateway answered itself.
func (s *callSearch) explained(dispatcher []locallog.Line) bool {
	if len(s.call.Lines) == 0 {
		return true // there is nothing to explain
	}
	for _, line := range dispatcher {
		var said struct{ RequestID, Msg, Outcome, Log string }
		if json.Unmarshal([]byte(line.Message), &said) != nil || said.RequestID != s.id {
			continue
		}
		// The audit log has outcomes of its own, of attempts too.
		if said.Msg == "discovery" || said.Outcome != "" && said.Log == "" {
			return true
		}
	}
	// API Gateway writes a dash for what is not there.
	return len(dispatcher) == 0 && slices.ContainsFunc(s.access(), func(line accessLine) bool {
		return line.ResponseType != "" && line.ResponseType != "-"
	})
}

// callSearch gathers the lines of a call.
type callSearch struct {
	*Target
	id       string
	from, to time.Time
	call     Call
}

func (s *callSearch) note(format string, args ...any) {
	s.call.Notes = append(s.call.Notes, fmt.Sprintf(format, args...))
}

// gateway finds the line of the access log, which is written when the answer has ended, and narrows the search by it.
func (s *callSearch) gateway(ctx context.Context) error {
	lines, err := s.find(ctx, logQuery{group: s.gatewayLog, from: s.from, to: s.to, text: s.id})
	if err != nil || len(lines) == 0 {
		return err
	}
	s.call.Lines = append(s.call.Lines, lines...)
	s.from = lines[0].Time.Add(-longestCall)
	// The function may run on after its client has left.
	s.to = lines[len(lines)-1].Time.Add(longestCall)
	return nil
}

// accessLine is what a line of the access log says of the invocations of a request, for functions that ended before
// they wrote a line, and of the gateway response, where the gateway answered itself.
type accessLine struct{ LambdaRequestID, AuthorizerLambdaRequestID, ResponseType string }

// access reads the lines of the access log.
func (s *callSearch) access() []accessLine {
	var all []accessLine
	for _, line := range s.call.Lines {
		var read accessLine
		if json.Unmarshal([]byte(line.Message), &read) == nil {
			all = append(all, read)
		}
	}
	return all
}

// dispatchers are the ids by which the dispatcher's lines are found: the request's, and that of the invocation.
func (s *callSearch) dispatchers(id string) []string {
	ids := []string{id}
	for _, line := range s.access() {
		if lambdaID.MatchString(line.LambdaRequestID) {
			ids = append(ids, line.LambdaRequestID)
		}
	}
	return ids
}

// authorizer adds the authorizer's lines. Where the log is not there, or may not be read, nothing is said of it, since
// that is so on every anonymous server.
func (s *callSearch) authorizer(ctx context.Context) error {
	ids := []string{s.id}
	for _, line := range s.access() {
		if lambdaID.MatchString(line.AuthorizerLambdaRequestID) {
			ids = append(ids, line.AuthorizerLambdaRequestID)
		}
	}
	notes := s.call.Notes
	_, err := s.function(ctx, s.authorizerLog, ids...)
	s.call.Notes = notes
	return err
}

// function adds and returns what the instances of a function wrote while they ran the call, which lines of theirs know
// by one of the ids: by the first of them that is found.
func (s *callSearch) function(ctx context.Context, group string, ids ...string) ([]locallog.Line, error) {
	for _, id := range ids {
		named, err := s.find(ctx, logQuery{group: group, from: s.from, to: s.to, text: id})
		if err != nil {
			return nil, err
		}
		if len(named) == 0 {
			continue
		}
		all, err := s.around(ctx, id, named)
		s.call.Lines = append(s.call.Lines, all...)
		return all, err
	}
	return nil, nil
}

// around returns all that was written around the lines that name an id, while the call ran.
func (s *callSearch) around(ctx context.Context, id string, named []locallog.Line) ([]locallog.Line, error) {
	var all []locallog.Line
	for _, stream := range streamsOf(named) {
		lines, err := s.find(ctx, logQuery{
			group: stream[0].Group, stream: stream[0].Stream,
			from: stream[0].Time.Add(-longestCall), to: stream[len(stream)-1].Time.Add(longestCall),
		})
		if err != nil {
			return nil, err
		}
		all = append(all, invocation(lines, id, stream)...)
	}
	return all, nil
}

// find searches a log group. One that does not exist, or that the operator may not read, is noted: that of an existing
// function is often another team's.
func (s *callSearch) find(ctx context.Context, query logQuery) ([]locallog.Line, error) {
	lines, err := s.logs.find(ctx, query)
	if errors.Is(err, errNoLog) {
		s.note("%s does not exist", query.group)
		return nil, nil
	}
	if denied(err) {
		s.note("you may not read %s", query.group)
		return nil, nil
	}
	if len(lines) >= maxLines {
		s.note("%s has more than %d lines in that time; there may be more of the call", query.group, maxLines)
	}
	return lines, err
}

// streamsOf divides lines by their stream.
func streamsOf(lines []locallog.Line) [][]locallog.Line {
	at := map[string]int{}
	var streams [][]locallog.Line
	for _, line := range lines {
		i, seen := at[line.Stream]
		if !seen {
			i = len(streams)
			at[line.Stream] = i
			streams = append(streams, nil)
		}
		streams[i] = append(streams[i], line)
	}
	return streams
}

// invocation cuts a stream to what was written from the START before the first line that names the id to the line that
// reports the end of the invocation, or to the next START. An instance runs one invocation at a time. What is found no
// more around the lines that name the id are those lines.
func invocation(stream []locallog.Line, id string, named []locallog.Line) []locallog.Line {
	first := slices.IndexFunc(stream, func(l locallog.Line) bool { return strings.Contains(l.Message, id) })
	if first < 0 {
		return named
	}
	last := first
	for i := first; i < len(stream); i++ {
		if strings.Contains(stream[i].Message, id) {
			last = i
		}
	}
	begin := first
	for begin > 0 && !starts(stream[begin].Message) {
		begin--
	}
	if !starts(stream[begin].Message) {
		begin = first
	}
	end := last + 1
	for end < len(stream) && !starts(stream[end].Message) {
		end++
		if reports(stream[end-1].Message) {
			break
		}
	}
	return stream[begin:end]
}

// starts reports whether Lambda says with a line that an invocation begins, in one of its two log formats.
func starts(message string) bool {
	return strings.HasPrefix(message, "START RequestId:") || strings.Contains(message, `"type":"platform.start"`)
}

// reports reports whether it is the last that Lambda says of an invocation.
func reports(message string) bool {
	return strings.HasPrefix(message, "REPORT RequestId:") || strings.Contains(message, `"type":"platform.report"`)
}

// lambdaID is the form of an invocation's id.
var lambdaID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// lambdaRequest is how Lambda names an invocation in its errors, which the dispatcher logs.
var lambdaRequest = regexp.MustCompile(`RequestId: ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`)

// invocationsIn returns the invocations of functions that the dispatcher's lines of a call name: a tool that crashes at
// once has written no line with the call's own id.
func invocationsIn(lines []locallog.Line, id string) []string {
	var invocations []string
	for _, line := range lines {
		if !strings.Contains(line.Message, id) {
			continue // Lambda's own line of the dispatcher's invocation
		}
		for _, match := range lambdaRequest.FindAllStringSubmatch(line.Message, -1) {
			if !slices.Contains(invocations, match[1]) {
				invocations = append(invocations, match[1])
			}
		}
	}
	return invocations
}

// functionsIn returns the names of the functions that the dispatcher's lines of a call name.
func functionsIn(lines []locallog.Line, id string) []string {
	var names []string
	for _, line := range lines {
		var call struct{ RequestID, Function string }
		if json.Unmarshal([]byte(line.Message), &call) != nil || call.RequestID != id {
			continue
		}
		if name := functionName(call.Function); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
