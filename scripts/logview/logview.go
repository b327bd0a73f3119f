// Package logview shows people in a terminal what the parts of a Patchbay server log, in lines or as the path of a
// call.
//
// What clients and tools wrote is in both. Nothing in it acts on the terminal, and no line of it passes for one of
// another writer: a message of several lines stays in its column.
package logview

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"patchbay/scripts/callpath"
	"patchbay/scripts/printable"
)

// Format is how a View writes lines.
type Format string

// The formats.
const (
	// Pretty is one line for each line, for people: the time, who wrote it, how grave it is, what happened, the facts and
	// the beginning of the request's id.
	Pretty Format = "pretty"
	// JSON is one object for each line, for programs: its own members behind "source", and "requestId" where it is known
	// and not among them. A line that is no JSON is in "msg", with "time".
	JSON Format = "json"
)

// Formats are all formats, as a flag's help names them.
var Formats = []Format{Pretty, JSON}

// ParseFormat reads a format; the error says what is allowed.
func ParseFormat(text string) (Format, error) {
	for _, format := range Formats {
		if text == string(format) {
			return format, nil
		}
	}
	return "", fmt.Errorf("log format %q; allowed: %s, %s", text, Pretty, JSON)
}

// Options say how a View writes. The zero value is Pretty without colours, in the local time zone.
type Options struct {
	Format Format
	// Colour is for terminals, unless their user wants none.
	Colour bool
	// Now is the clock for lines that have no time of their own; nil means time.Now.
	Now func() time.Time
}

// View writes lines and calls, each as a whole. It is safe for concurrent use.
type View struct {
	options Options
	paint   painter

	mu sync.Mutex
	w  io.Writer
	// width is that of the longest name of a writer so far, so that messages stand in one column.
	width int
}

// New returns a View that writes to w. What cannot be written is lost: there is nobody to tell.
func New(w io.Writer, options Options) *View {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &View{options: options, paint: painter(options.Colour), w: w, width: len("dispatcher")}
}

const (
	clock = "15:04:05.000"
	// shortID is how much of a request's id is shown: enough to tell the calls of a session apart, and to search for.
	shortID = 8
	// maxName is the longest name of a writer that moves the column.
	maxName = 24
)

// Line writes a line of the log of source, which is a function's name or gateway. requestID is the request for which it
// was written; empty where that is not known, or only the line itself says it.
func (v *View) Line(source, requestID string, line []byte) {
	if v.options.Format == JSON {
		v.write(object(source, requestID, line, v.options.Now()))
		return
	}
	e := parse(string(line))
	if e.metrics {
		return
	}
	if e.time.IsZero() {
		e.time = v.options.Now()
	}
	if requestID == "" {
		requestID = e.requestID
	}
	name := printable.Line(source)
	width := v.widen(name)
	indent := strings.Repeat(" ", len(clock)+2+width+2+shortID+2)
	v.write(v.paint.dim(e.time.Local().Format(clock)) + "  " + v.paint.name(name, width) + "  " +
		v.paint.dim(pad(short(requestID), shortID)) + "  " + e.text(v.paint, indent) + "\n")
}

// Call draws the path of a call: see Draw. As JSON, it is one object.
func (v *View) Call(call callpath.Call) {
	if v.options.Format == JSON {
		v.write(callObject(call))
		return
	}
	var out strings.Builder
	draw(&out, call, v.paint)
	v.write(out.String())
}

func (v *View) write(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _ = io.WriteString(v.w, text)
}

// widen makes room for a name, and returns how much there is.
func (v *View) widen(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.width = max(v.width, min(utf8.RuneCountInString(name), maxName))
	return v.width
}

// short is the beginning of an id, which a tool may have made up.
func short(id string) string {
	runes := []rune(printable.Line(id))
	return string(runes[:min(len(runes), shortID)])
}

// pad fills a text up with blanks.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
