package callpath

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"patchbay/dispatcher/toolcall"
	"patchbay/scripts/localgateway"
	"patchbay/shared/mcp"
)

// sourceGateway is whose lines and span the gateway's are.
const sourceGateway = "gateway"

// path is what is known of a call.
type path struct {
	id string
	// access is the gateway's record; nil while the answer goes on.
	access *localgateway.Access
	// segment is the part of the trace under which the dispatcher asks for invocations.
	segment string
	runs    []*run
	lines   []Line
	text    int // bytes of the lines
	// final says that it was told when nothing of it ran any more, and whole that nothing was missing, either; timer is
	// there while its lines are waited for.
	final, whole bool
	timer        *time.Timer
}

// run is an invocation of a call.
type run struct {
	path         *path
	id, function string
	// begun and ended are zero while it has not.
	asked, begun, ended time.Time
	cold                bool
	failure             string
	// facts are those of the line that says how it ended; nil where there is none yet.
	facts     *facts
	instances []string
}

func (p *path) running() bool {
	return slices.ContainsFunc(p.runs, func(r *run) bool { return r.ended.IsZero() })
}

// complete reports whether every run has ended and told how. One that never got an instance tells nothing.
func (p *path) complete() bool {
	return !p.running() && !slices.ContainsFunc(p.runs, func(r *run) bool { return r.facts == nil && !r.begun.IsZero() })
}

// cut stands for the lines that are too many.
const cut = "further lines are left out here; patchbay calls shows all"

// add keeps a line, as long as there is room. Lines in the embedded metric format are for CloudWatch, and say nothing
// that the call's own line does not.
func (p *path) add(line Line) {
	if strings.HasPrefix(line.Message, `{"_aws":`) || p.text > maxText || len(p.lines) > maxLines {
		return
	}
	p.text += len(line.Message)
	if p.text > maxText || len(p.lines) == maxLines {
		p.text = maxText + 1
		line = Line{Time: line.Time, Source: line.Source, Message: cut}
	}
	p.lines = append(p.lines, line)
}

// facts are what a line in JSON says of a call, as far as that matters here.
type facts struct {
	Message   string `json:"msg"`
	Log       string
	RequestID string
	Method    string
	Tool      string
	Principal string
	Outcome   string
	Reason    string
	Missing   []string
	Ledger    string
	Error     string
	ColdStart bool
}

// read reads a line; one that is no object of JSON says nothing.
func read(line []byte) facts {
	var f facts
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &f) != nil {
		return facts{}
	}
	return f
}

// closes reports whether it is the line that every invocation of ours leaves at its end. The audit log has an outcome,
// too.
func (f *facts) closes(requestID string) bool {
	return f.RequestID == requestID && (f.Outcome != "" && f.Log == "" || f.Message == messageDiscovery)
}

// call tells what is known.
func (p *path) call() Call {
	began := p.access.Began
	call := Call{
		RequestID: p.id, Began: began, DurationMS: milliseconds(p.access.Took), HTTPMethod: p.access.HTTPMethod,
		Path: p.access.Path, Status: p.access.Status, Lines: slices.Clone(p.lines),
	}
	call.Spans = append(call.Spans, Span{
		Name: sourceGateway, DurationMS: call.DurationMS, Outcome: p.access.ResponseType,
	})
	for _, r := range p.runs {
		call.Spans = append(call.Spans, r.span(began))
		if r.facts != nil {
			call.learn(r.function, r.facts)
		}
	}
	if call.Refusal == "" && p.access.ResponseType != "" {
		call.Refusal = sourceGateway + ": " + p.access.ResponseType
	}
	return call
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// span is the run's part of the call's time.
func (r *run) span(began time.Time) Span {
	span := Span{
		Name: r.function, StartMS: milliseconds(r.asked.Sub(began)), ColdStart: r.cold, Running: r.ended.IsZero(),
		Outcome: r.outcome(),
	}
	if !span.Running {
		span.DurationMS = milliseconds(r.ended.Sub(r.asked))
	}
	if r.cold && !r.begun.IsZero() {
		span.InitMS = milliseconds(r.begun.Sub(r.asked))
	}
	return span
}

// good are the words for success.
var good = []string{"ok", "allowed"}

// outcome is the run's own word before Lambda's, which says less.
func (r *run) outcome() string {
	if r.facts == nil || r.facts.Outcome == "" {
		return r.failure
	}
	if slices.Contains(good, r.facts.Outcome) {
		return r.failure
	}
	return r.facts.Outcome
}

// The messages of the lines in which dispatcher and authorizer say how a request ended.
const (
	messageRequest   = "request"
	messageCall      = "tools/call"
	messageDiscovery = "discovery"
	messageDecision  = "authorization"
)

// learn takes over what the closing line of a function says of the whole call. A tool has no say in that: it may log
// the very words of dispatcher and authorizer.
func (c *Call) learn(function string, f *facts) {
	switch function {
	case functionAuthorizer:
		c.Tool = f.Tool // the dispatcher says it again, but not of a request that ends here
		c.refusedBy(function, f.Message == messageDecision && f.Outcome != "allowed" && f.Outcome != "failed", f)
	case functionDispatcher:
		c.learnOfDispatcher(f)
	}
}

func (c *Call) learnOfDispatcher(f *facts) {
	switch f.Message {
	case messageCall:
		c.Method = mcp.MethodToolsCall
		c.know(f)
		c.refusedBy(functionDispatcher, toolcall.IsRefusal(f.Outcome), f)
	case messageDiscovery:
		c.refusedBy(functionDispatcher, f.Reason != "", f)
	case messageRequest:
		c.Method = f.Method
		c.know(f)
		c.refusedBy(functionDispatcher, f.Outcome == "refused", f)
	}
}

func (c *Call) know(f *facts) {
	c.Tool, c.Principal, c.Outcome, c.Ledger = f.Tool, f.Principal, f.Outcome, f.Ledger
}

// refusedBy says who refused the call and why: the word for it, and what the client was told.
func (c *Call) refusedBy(who string, refused bool, f *facts) {
	if !refused {
		return
	}
	c.Refusal = who + ": " + f.Outcome
	if f.Reason != "" {
		c.Refusal = who + ": " + f.Reason
	}
	if len(f.Missing) > 0 {
		c.Refusal += " (" + strings.Join(f.Missing, " ") + ")"
	}
	if f.Error != "" {
		c.Refusal += ": " + f.Error
	}
}
