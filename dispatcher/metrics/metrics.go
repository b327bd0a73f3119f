// Package metrics writes what the dispatcher counts in CloudWatch's embedded metric format: a JSON object on a line of
// its own, which CloudWatch takes from the function's log and makes metrics of. It costs no request, and a line that is
// lost is nothing but a gap in a graph.
//
// Every dimension's value makes metrics of its own that cost money each month, so a value is only ever one that the
// deployment chose: a tool of the catalogue, a reason out of a table, and never a name that a client sent, or a caller.
// Counters that are zero are left out for the same reason; whoever computes with them fills the gaps with zero.
//
// Source: Amazon CloudWatch User Guide, "Specification: Embedded metric format".
package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Dimensions of the metrics. Calls, Errors, Duration, Refusals, Replays, OutcomeUnknown and LedgerUnavailable are there
// for the deployment and for each of its tools, ColdStarts for the deployment alone, and Refusals once more by reason.
const (
	DimensionDeployment = "deployment"
	DimensionTool       = "tool"
	DimensionReason     = "reason"
)

// Names of the metrics. Duration is in milliseconds, all others are counts.
const (
	// Calls counts tool calls, whatever came of them.
	Calls = "Calls"
	// Duration is how long a call took, from its request to its answer.
	Duration = "Duration"
	// Errors counts the calls, and other requests, that failed for a reason on this side: somebody has to look.
	Errors = "Errors"
	// Refusals counts what was refused for a reason on the caller's side.
	Refusals = "Refusals"
	// Replays counts the calls that were answered with a recorded result.
	Replays = "Replays"
	// OutcomeUnknown counts the recorded calls of which nobody knows whether they had their effect: those that were left
	// so, and those that were refused since an earlier one was.
	OutcomeUnknown = "OutcomeUnknown"
	// LedgerUnavailable counts the calls that could not be recorded, or not to their end.
	LedgerUnavailable = "LedgerUnavailable"
	// ColdStarts counts the dispatcher's new instances, by their first line.
	ColdStarts = "ColdStarts"
)

// namespace is what CloudWatch takes for one; AWS's own are not for others.
// Source: Amazon CloudWatch API Reference, PutMetricData.
var namespace = regexp.MustCompile(`^[0-9A-Za-z._/#-][0-9A-Za-z._/#: -]{0,254}$`)

// reserved are the namespaces of AWS's own metrics.
const reserved = "AWS/"

// CheckNamespace says what is wrong with a namespace.
func CheckNamespace(text string) error {
	if !namespace.MatchString(text) || len(text) >= len(reserved) && text[:len(reserved)] == reserved {
		return fmt.Errorf("%q is no namespace for metrics; allowed: 1 to 255 of A-Z a-z 0-9 . - _ / # : and space, not "+
			"beginning with %s", text, reserved)
	}
	return nil
}

// Options say what the lines are of.
type Options struct {
	// Namespace is that of all metrics; see CheckNamespace.
	Namespace string
	// Deployment is the value of the dimension that all metrics have.
	Deployment string
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// Writer writes lines. A nil one writes none. It is safe for concurrent use where its output is.
type Writer struct {
	out io.Writer
	now func() time.Time
	// begun says that a line was written.
	begun atomic.Bool
	// The parts of every line, encoded once.
	directive, deployment string
	lines                 sync.Pool
}

// New returns a Writer, of which every line is one Write to out; nil, which writes nothing, without a namespace.
func New(out io.Writer, options Options) *Writer {
	if options.Namespace == "" {
		return nil
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Writer{
		out: out, now: options.Now,
		directive:  `{"Namespace":` + quote(options.Namespace) + `,"Dimensions":[`,
		deployment: `,"` + DimensionDeployment + `":` + quote(options.Deployment),
		lines:      sync.Pool{New: func() any { return new(line) }},
	}
}

func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic("encoding a string: " + err.Error())
	}
	return string(raw)
}

// Call is what a tool call counts as.
type Call struct {
	// Tool is the tool's name in the catalogue; empty where there is no such tool for the caller.
	Tool     string
	Duration time.Duration
	// Refusal is the reason for which the call was refused, out of a fixed set; empty where it was not.
	Refusal string
	// The others count once in the metric of their name.
	Error, Replay, OutcomeUnknown, LedgerUnavailable bool
}

// Call writes the line of a tool call.
func (w *Writer) Call(call Call) {
	if w == nil {
		return
	}
	l := w.line(call.Tool, call.Refusal)
	l.count(Calls, true)
	l.measure(Duration, call.Duration)
	l.count(Errors, call.Error)
	l.count(Refusals, call.Refusal != "")
	l.count(Replays, call.Replay)
	l.count(OutcomeUnknown, call.OutcomeUnknown)
	l.count(LedgerUnavailable, call.LedgerUnavailable)
	w.write(l)
}

// Request is what a request counts as that is no tool call, or never became one.
type Request struct {
	// Refusal is as in Call.
	Refusal string
	Error   bool
}

// Request writes the line of such a request, if there is anything to say of it.
func (w *Writer) Request(request Request) {
	if w == nil || request == (Request{}) && w.begun.Load() {
		return
	}
	l := w.line("", request.Refusal)
	l.count(Errors, request.Error)
	l.count(Refusals, request.Refusal != "")
	w.write(l)
}

// line is a line in the making.
type line struct {
	tool, reason string
	cold         bool
	// definitions and values are the metrics' parts so far, each with a comma before it; text is the whole.
	definitions, values, text []byte
}

func (w *Writer) line(tool, reason string) *line {
	l := w.lines.Get().(*line)
	l.tool, l.reason, l.cold = tool, reason, !w.begun.Swap(true)
	l.definitions, l.values, l.text = l.definitions[:0], l.values[:0], l.text[:0]
	return l
}

func (l *line) count(name string, counts bool) {
	if counts {
		l.define(name, "Count")
		l.values = append(l.values, '1')
	}
}

func (l *line) measure(name string, duration time.Duration) {
	l.define(name, "Milliseconds")
	l.values = strconv.AppendFloat(l.values, float64(duration.Microseconds())/1000, 'f', -1, 64)
}

// define adds a metric up to its value.
func (l *line) define(name, unit string) {
	l.definitions = append(l.definitions, `,{"Name":"`...)
	l.definitions = append(l.definitions, name...)
	l.definitions = append(l.definitions, `","Unit":"`...)
	l.definitions = append(l.definitions, unit...)
	l.definitions = append(l.definitions, `"}`...)
	l.values = append(l.values, `,"`...)
	l.values = append(l.values, name...)
	l.values = append(l.values, `":`...)
}

// The dimensions of a directive.
const (
	ofDeployment = `["` + DimensionDeployment + `"]`
	ofTool       = `["` + DimensionDeployment + `","` + DimensionTool + `"]`
	ofReason     = `["` + DimensionDeployment + `","` + DimensionReason + `"]`

	coldStart = `{"Name":"` + ColdStarts + `","Unit":"Count"}`
	refusal   = `{"Name":"` + Refusals + `","Unit":"Count"}`
)

// write puts the line together and writes it. The order of the members is that of the specification's examples.
func (w *Writer) write(l *line) {
	defer w.lines.Put(l)
	out := append(l.text, `{"_aws":{"Timestamp":`...)
	out = strconv.AppendInt(out, w.now().UnixMilli(), 10)
	out = append(out, `,"CloudWatchMetrics":[`...)
	first := len(out)
	if len(l.definitions) > 0 {
		dimensions := ofDeployment
		if l.tool != "" {
			dimensions = ofDeployment + "," + ofTool
		}
		out = w.appendDirective(out, first, dimensions)
		out = append(out, l.definitions[1:]...)
		out = append(out, "]}"...)
	}
	if l.cold {
		out = append(w.appendDirective(out, first, ofDeployment), coldStart+"]}"...)
	}
	if l.reason != "" {
		out = append(w.appendDirective(out, first, ofReason), refusal+"]}"...)
	}
	out = append(out, `]},"log":"metrics"`...)
	out = append(out, w.deployment...)
	out = appendMember(out, DimensionTool, l.tool)
	out = appendMember(out, DimensionReason, l.reason)
	out = append(out, l.values...)
	if l.cold {
		out = append(out, `,"`+ColdStarts+`":1`...)
	}
	l.text = append(out, "}\n"...)
	// There is nobody to tell: standard output is where the function's log is.
	_, _ = w.out.Write(l.text)
}

// appendDirective begins a directive, after the one before it.
func (w *Writer) appendDirective(out []byte, first int, dimensions string) []byte {
	if len(out) > first {
		out = append(out, ',')
	}
	out = append(out, w.directive...)
	out = append(out, dimensions...)
	return append(out, `],"Metrics":[`...)
}

// appendMember adds a member that is a string. The values are names of tools and reasons, which need no escaping.
func appendMember(out []byte, name, value string) []byte {
	if value == "" {
		return out
	}
	out = append(out, `,"`...)
	out = append(out, name...)
	out = append(out, `":`...)
	return strconv.AppendQuote(out, value)
}
