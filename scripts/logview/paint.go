package logview

import (
	"hash/fnv"

	"patchbay/dispatcher/toolcall"
)

// painter colours text, if it is to. It uses the sixteen colours that every terminal maps to its own theme.
type painter bool

// Codes of ECMA-48's SGR.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p painter) in(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p painter) dim(text string) string  { return p.in(faint, text) }
func (p painter) bold(text string) string { return p.in(bold, text) }

// names are the colours that writers get: none of those that say how something went.
var names = []string{"36", "35", "34", "96", "95", "94"}

// name is a writer's, always in the same colour.
func (p painter) name(text string, width int) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(text)) // never an error
	return p.in(names[hash.Sum32()%uint32(len(names))], pad(text, width))
}

func (p painter) level(level string) string {
	switch level {
	case "ERROR":
		return p.in(red, level)
	case "WARN":
		return p.in(yellow, level)
	}
	return p.dim(level)
}

// outcome is green for what went well, yellow for what somebody else can mend, red for what whoever runs the server has
// to look at.
func (p painter) outcome(word string) string {
	switch {
	case toolcall.IsRefusal(word), word == "refused", word == "unauthorized", word == "denied", word == "tool_error":
		return p.in(yellow, word)
	case toolcall.IsFine(word), word == "allowed":
		return p.in(green, word)
	}
	return p.in(red, word)
}
