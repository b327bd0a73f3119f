package logview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"patchbay/scripts/callpath"
	"patchbay/scripts/printable"
	"patchbay/shared/jsonrpc"
)

// Text writes a line of JSON as its message and name=value; any other line stays as it is, as far as it prints, with
// indent before all but its first line. Left out is what every line of a call says: the time, and the request's id.
//
// Clients and tools have their say in both, and anybody may be a client.
func Text(message, requestID, indent string) string {
	e := parse(message)
	if e.members == nil {
		return printable.Lines(message, indent)
	}
	rest := e.facts(func(m jsonrpc.Member, value string) bool {
		return m.Key == keyRequestID && value == requestID || m.Key == keyLevel && value == "INFO"
	})
	return strings.TrimSpace(e.message + " " + strings.Join(rest, " "))
}

// The members that a View shows in a place of their own.
const (
	keyTime      = "time"
	keyLevel     = "level"
	keyMessage   = "msg"
	keyRequestID = "requestId"
	keyOutcome   = "outcome"
	keyTool      = "tool"
	keyDuration  = "durationMs"
	keySource    = "source"
)

// noise are members that say nothing to whoever watches a stack at work: what repeats the source, ids for other tools,
// digests, and what the client reads itself. The logs have them.
var noise = []string{
	keyTime, keyLevel, keyRequestID, "traceId", "traceparent", "protocolVersion", "function", "lambdaRequestId",
	"arguments", "record", "body",
}

// nobody are values that say as much as none: an empty text, and a caller who has not signed in.
var nobody = []string{`""`, "anonymous"}

// entry is a line as it was read.
type entry struct {
	// raw is the whole line, and members nil, where it is no JSON object.
	raw     string
	members []jsonrpc.Member

	time                      time.Time
	level, message, requestID string
	// metrics says that it is in the embedded metric format, which is for CloudWatch.
	metrics bool
}

func parse(line string) entry {
	e := entry{raw: line}
	if !json.Valid([]byte(line)) {
		return e
	}
	members, err := jsonrpc.Members(json.RawMessage(line))
	if err != nil {
		return e
	}
	e.members = members
	for _, m := range members {
		switch m.Key {
		case keyTime:
			e.time, _ = time.Parse(time.RFC3339Nano, plain(m.Value))
		case keyLevel:
			e.level = plain(m.Value)
		case keyMessage:
			e.message = title(m.Value)
		case keyRequestID:
			e.requestID = plain(m.Value)
		case "_aws":
			e.metrics = true
		}
	}
	return e
}

// facts are the members but for those that are left out, as name=value.
func (e *entry) facts(leaveOut func(m jsonrpc.Member, value string) bool) []string {
	var facts []string
	for _, m := range e.members {
		value := bare(m.Value)
		if m.Key == keyTime || m.Key == keyMessage || leaveOut(m, value) {
			continue
		}
		facts = append(facts, name(m.Key)+"="+value)
	}
	return facts
}

// text is the line as a View shows it: how grave it is, the message, the tool, the outcome and the time that it took,
// and then the rest.
func (e *entry) text(paint painter, indent string) string {
	if e.members == nil {
		return printable.Lines(e.raw, indent)
	}
	var words []string
	if e.level != "" && e.level != "INFO" {
		words = append(words, paint.level(printable.Word(e.level)))
	}
	words = append(words, e.message)
	for _, key := range []string{keyTool, keyOutcome, keyDuration} {
		if at := slices.IndexFunc(e.members, func(m jsonrpc.Member) bool { return m.Key == key }); at >= 0 {
			words = append(words, lead(key, bare(e.members[at].Value), paint))
		}
	}
	var stack string
	rest := e.facts(func(m jsonrpc.Member, value string) bool {
		switch m.Key {
		case keyStack:
			stack = plain(m.Value)
			return true
		case keyTool, keyOutcome, keyDuration:
			return true
		}
		return slices.Contains(noise, m.Key) || slices.Contains(nobody, value)
	})
	if len(rest) > 0 {
		words = append(words, paint.dim(strings.Join(rest, " ")))
	}
	text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	if stack != "" {
		text += "\n" + indent + printable.Lines(strings.TrimRight(stack, "\n"), indent)
	}
	return text
}

// keyStack is a stack trace, which is shown as it was, in lines.
const keyStack = "stack"

// lead is one of the first facts of a line, which need no name.
func lead(key, value string, paint painter) string {
	switch key {
	case keyOutcome:
		return paint.outcome(value)
	case keyDuration:
		ms, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return key + "=" + value
		}
		return duration(ms)
	}
	return value
}

// duration is a time in milliseconds.
func duration(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.1fs", ms/1000)
	case ms >= 100:
		return fmt.Sprintf("%.0fms", ms)
	}
	return fmt.Sprintf("%.1fms", ms)
}

// object is a line for programs.
func object(source, requestID string, line []byte, now time.Time) string {
	e := parse(string(line))
	members := []jsonrpc.Member{{Key: keySource, Value: encode(source)}}
	if requestID != "" && e.requestID == "" {
		members = append(members, jsonrpc.Member{Key: keyRequestID, Value: encode(requestID)})
	}
	if e.members == nil {
		members = append(members, jsonrpc.Member{Key: keyTime, Value: encode(now.UTC())},
			jsonrpc.Member{Key: keyMessage, Value: encode(string(line))})
	}
	for _, m := range e.members {
		if m.Key != keySource && (m.Key != keyRequestID || e.requestID != "") {
			members = append(members, m)
		}
	}
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = oneLine(encode(m.Key)) + ":" + oneLine(m.Value)
	}
	return "{" + strings.Join(parts, ",") + "}\n"
}

// callObject is a call for programs: told from lines by its source.
func callObject(call callpath.Call) string {
	return object(sourceTrace, "", encode(call), time.Time{})
}

// sourceTrace is the source of calls among lines in JSON.
const sourceTrace = "trace"

func encode(value any) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic("logview: encoding texts, numbers and times: " + err.Error())
	}
	return encoded
}

// plain is a text, and anything else as JSON.
func plain(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return oneLine(value)
}

// bare leaves the quotes off a text that needs none.
func bare(value json.RawMessage) string {
	if value[0] == '"' {
		return printable.Word(plain(value))
	}
	return oneLine(value)
}

// oneLine is JSON that callers and tools wrote, in a line that can be copied as JSON.
func oneLine(value json.RawMessage) string {
	var line bytes.Buffer
	if json.Compact(&line, value) != nil {
		return printable.Line(string(value))
	}
	return string(printable.JSON(line.Bytes()))
}

// name is a member's name, quoted where it would not end at the equals sign behind it.
func name(key string) string {
	if strings.Contains(key, "=") {
		return strconv.Quote(key)
	}
	return printable.Word(key)
}

// title is a message, quoted where it would pass for the name=value behind it.
func title(value json.RawMessage) string {
	if value[0] != '"' {
		return oneLine(value)
	}
	text := plain(value)
	if strings.ContainsAny(text, `="`) || printable.Line(text) != text {
		return strconv.Quote(text)
	}
	return text
}
