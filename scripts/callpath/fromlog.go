package callpath

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallog"
)

// FromLog puts a call together from the log lines of one request, as CloudWatch Logs or a local stack's folder has
// them, in order of time. It is false where the gateway's line is not among them.
//
// A line has the time at which it was logged, to the millisecond, and by the clock of whoever logged it: spans are as
// exact as that. How long an instance took to start is known only where Lambda reports it.
func FromLog(id string, lines []locallog.Line) (Call, bool) {
	log := requestLog{call: &path{id: id}, streams: map[string]*run{}}
	for _, line := range lines {
		if strings.HasPrefix(line.Group, "/aws/apigateway/") {
			log.gateway(line)
		} else {
			log.function(line)
		}
	}
	if log.call.access == nil {
		return Call{}, false
	}
	slices.SortStableFunc(log.call.runs, func(a, b *run) int {
		return cmp.Or(cmp.Compare(rank(a.function), rank(b.function)), a.asked.Compare(b.asked))
	})
	call := log.call.call()
	for i := range call.Spans {
		// Two clocks are never the same.
		call.Spans[i].StartMS = max(0, call.Spans[i].StartMS)
	}
	return call, true
}

// The functions in front of the tools' own.
const (
	functionAuthorizer = "authorizer"
	functionDispatcher = "dispatcher"
)

// rank is the order in which functions have a call, whatever their clocks say.
func rank(function string) int {
	switch function {
	case functionAuthorizer:
		return 0
	case functionDispatcher:
		return 1
	}
	return 2
}

// requestLog is the log of one request while it is read.
type requestLog struct {
	call *path
	// streams have the run whose lines a stream holds at the moment, by group and stream.
	streams map[string]*run
}

// gateway reads a line of the access log. A deployed API writes numbers as texts.
func (l *requestLog) gateway(line locallog.Line) {
	l.call.add(Line{Time: line.Time, Source: sourceGateway, Message: line.Message})
	var access struct {
		RequestID, HTTPMethod, Path, ResponseType string
		Status, ResponseLatency                   number
	}
	if json.Unmarshal([]byte(line.Message), &access) != nil || access.RequestID != l.call.id {
		return
	}
	took := time.Duration(float64(access.ResponseLatency) * float64(time.Millisecond))
	l.call.access = &localgateway.Access{
		RequestID: access.RequestID, HTTPMethod: access.HTTPMethod, Path: access.Path, Status: int(access.Status),
		ResponseType: strings.Trim(access.ResponseType, "-"), Began: line.Time.Add(-took), Took: took,
	}
}

// number is a number, or a text with one in it; anything else is 0.
type number float64

// UnmarshalJSON reads the number.
func (n *number) UnmarshalJSON(data []byte) error {
	var value float64
	if json.Unmarshal([]byte(strings.Trim(string(data), `"`)), &value) == nil {
		*n = number(value)
	}
	return nil
}

// platform is what Lambda says of an invocation in its JSON format.
// Source: AWS Lambda developer guide, "Lambda Telemetry API Event schema reference".
type platform struct {
	Type   string
	Record struct {
		Status, ErrorType string
		Metrics           struct{ DurationMs, InitDurationMs float64 }
	}
}

// function reads a line of a function.
func (l *requestLog) function(line locallog.Line) {
	var said platform
	if strings.HasPrefix(line.Message, "{") && json.Unmarshal([]byte(line.Message), &said) != nil {
		said = platform{}
	}
	stream := line.Group + " " + line.Stream
	r := l.streams[stream]
	starts := strings.HasPrefix(line.Message, "START RequestId:") || said.Type == "platform.start"
	if r == nil || starts {
		r = &run{path: l.call, function: functionOf(line.Group), asked: line.Time, begun: line.Time}
		l.streams[stream] = r
		l.call.runs = append(l.call.runs, r)
	}
	switch {
	case said.Type == "platform.report":
		r.report(said)
		return
	case starts, strings.HasPrefix(said.Type, "platform."):
		return
	}
	l.call.add(Line{Time: line.Time, Source: r.function, Message: line.Message})
	r.ended = line.Time
	if facts := read([]byte(line.Message)); facts.closes(l.call.id) {
		r.facts, r.cold = &facts, r.cold || facts.ColdStart
	}
}

// report takes over what Lambda has measured.
func (r *run) report(said platform) {
	metrics := said.Record.Metrics
	r.ended = r.begun.Add(time.Duration(metrics.DurationMs * float64(time.Millisecond)))
	if metrics.InitDurationMs > 0 {
		r.cold = true
		r.asked = r.begun.Add(-time.Duration(metrics.InitDurationMs * float64(time.Millisecond)))
	}
	if said.Record.Status != "success" {
		r.failure = cmp.Or(said.Record.ErrorType, said.Record.Status)
	}
}

// functionOf is the function of a log group. Those of a deployment have its name before their own.
func functionOf(group string) string {
	name := group[strings.LastIndexByte(group, '/')+1:]
	for _, front := range []string{functionAuthorizer, functionDispatcher} {
		if name == front || strings.HasSuffix(name, "-"+front) {
			return front
		}
	}
	return name
}
