package logview

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"patchbay/scripts/callpath"
	"patchbay/scripts/printable"
)

// barWidth is how many columns stand for the whole time of a call.
const barWidth = 40

// Draw writes the path of a call as a tree, each part with when it began, a bar, and how long it took. The light part
// of a bar is the start of an instance.
func Draw(w io.Writer, call callpath.Call, colour bool) { draw(w, call, painter(colour)) }

func draw(w io.Writer, call callpath.Call, paint painter) {
	fmt.Fprintln(w, head(call, paint))
	whole := 0.0
	width := 0
	for i, span := range call.Spans {
		whole = max(whole, span.StartMS+span.DurationMS)
		width = max(width, utf8.RuneCountInString(branch(call.Spans, i)+printable.Line(span.Name)))
	}
	for i, span := range call.Spans {
		tree, name := branch(call.Spans, i), printable.Line(span.Name)
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s%s  %9s  %s  %9s  %s", paint.dim(tree),
			paint.name(name, width-utf8.RuneCountInString(tree)), "+"+duration(span.StartMS), bar(span, whole, paint),
			length(span), remarks(span, paint)), " "))
	}
	for _, line := range notes(call) {
		fmt.Fprintln(w, "  "+line)
	}
}

// head names the call and says how it went.
func head(call callpath.Call, paint painter) string {
	what := call.HTTPMethod + " " + call.Path
	if call.Method != "" {
		what = call.Method
	}
	words := []string{paint.dim("call " + printable.Line(call.RequestID)), paint.bold(printable.Line(what))}
	if call.Tool != "" {
		words = append(words, paint.bold(printable.Line(call.Tool)))
	}
	words = append(words, status(call.Status))
	if call.Outcome != "" {
		words = append(words, paint.outcome(printable.Line(call.Outcome)))
	}
	return strings.Join(append(words, duration(call.DurationMS)), " ")
}

// status is 0 for an answer whose beginning nobody has seen.
func status(code int) string {
	if code == 0 {
		return "no answer: the client left"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// depth says how far a part is from the gateway: what is neither of the front ones is a tool.
func depth(span callpath.Span) int {
	switch span.Name {
	case "gateway":
		return 0
	case "authorizer", "dispatcher":
		return 1
	}
	return 2
}

// branch is what stands before a part's name in the tree.
func branch(spans []callpath.Span, at int) string {
	depthOf := depth(spans[at])
	if depthOf == 0 {
		return ""
	}
	last := true
	for _, later := range spans[at+1:] {
		if depth(later) < depthOf {
			break
		}
		if depth(later) == depthOf {
			last = false
		}
	}
	indent := strings.Repeat("   ", depthOf-1)
	if last {
		return indent + "└─ "
	}
	return indent + "├─ "
}

// bar stands for a part's time in that of the whole call; it has at least one column, and what runs on goes on to the
// end.
func bar(span callpath.Span, whole float64, paint painter) string {
	column := func(ms float64) int {
		if whole <= 0 {
			return 0
		}
		return int(math.Round(min(barWidth, max(0, ms/whole*barWidth))))
	}
	from := min(column(span.StartMS), barWidth-1)
	to := max(column(span.StartMS+span.DurationMS), from+1)
	if span.Running {
		to = barWidth
	}
	started := min(column(span.StartMS+span.InitMS), to-1)
	if span.InitMS == 0 {
		started = from
	}
	return strings.Repeat(" ", from) + paint.dim(strings.Repeat("░", started-from)) +
		paint.in(colourOf(span), strings.Repeat("█", to-started)) + strings.Repeat(" ", barWidth-to)
}

func colourOf(span callpath.Span) string {
	if span.Outcome == "" {
		return green
	}
	return yellow
}

// length is how long a part took.
func length(span callpath.Span) string {
	if span.Running {
		return "runs on"
	}
	return duration(span.DurationMS)
}

func remarks(span callpath.Span, paint painter) string {
	var remarks []string
	if span.Outcome != "" {
		remarks = append(remarks, paint.outcome(printable.Line(span.Outcome)))
	}
	switch {
	case span.ColdStart && span.InitMS > 0:
		remarks = append(remarks, "cold start "+duration(span.InitMS))
	case span.ColdStart:
		remarks = append(remarks, "cold start")
	}
	return strings.Join(remarks, ", ")
}

// notes are the facts below the tree.
func notes(call callpath.Call) []string {
	var notes []string
	if call.Refusal != "" {
		notes = append(notes, "refused by "+printable.Line(call.Refusal))
	}
	if call.Ledger != "" {
		notes = append(notes, "ledger: "+printable.Line(call.Ledger))
	}
	if call.Principal != "" && !slices.Contains(nobody, call.Principal) {
		notes = append(notes, "principal: "+printable.Line(call.Principal))
	}
	return notes
}
