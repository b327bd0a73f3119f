package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expectation is what an answer must be.
type expectation struct {
	statuses []int
	codes    []int
	result   bool // no error is allowed, too
	empty    bool

	id       string // JSON text, "any", "absent"; empty for that of the request
	matches  []match
	headers  []headerMatch
	exact    []header // values with placeholders
	absent   []string // header names
	document string   // JSON text with placeholders; empty for any body
	messages int      // 0: any number
	progress *progressWant
	captures []capture
	sameAs   string
}

type match struct {
	message  int // -1: the last
	path, op string
	value    any            // for = and has
	pattern  *regexp.Regexp // for ~ and !~
	kind     string         // for is
}

type headerMatch struct {
	name    string
	pattern *regexp.Regexp
}

type progressWant struct {
	min   int
	token any
}

type capture struct{ variable, path string }

func (w *expectation) complete() bool { return len(w.statuses) > 0 }

// reads reports whether the answer's messages are looked at.
func (w *expectation) reads() bool {
	return w.result || len(w.codes) > 0 || len(w.matches) > 0 || w.messages > 0 || w.progress != nil ||
		len(w.captures) > 0 || w.sameAs != "" || w.id != ""
}

// expectations add to what an answer must be.
var expectations = map[string]func(w *expectation, rest string) error{
	"expect": (*expectation).parseExpect,
	"expect-id": func(w *expectation, rest string) error {
		w.id = rest
		return nil
	},
	"match": func(w *expectation, rest string) error { return w.addMatch(-1, rest) },
	"answer-header": func(w *expectation, rest string) error {
		name, pattern, _ := strings.Cut(rest, " ")
		re, err := regexp.Compile(pattern)
		w.headers = append(w.headers, headerMatch{name, re})
		return err
	},
	"answer-header=": func(w *expectation, rest string) error {
		name, value, found := strings.Cut(rest, " ")
		if !found {
			return fmt.Errorf("answer-header= %s: want NAME VALUE", rest)
		}
		w.exact = append(w.exact, header{name, value})
		return nil
	},
	"document": func(w *expectation, rest string) error {
		w.document = rest
		_, err := decodeJSON([]byte(rest))
		return err
	},
	"no-answer-header": func(w *expectation, rest string) error {
		w.absent = append(w.absent, rest)
		return nil
	},
	"messages": func(w *expectation, rest string) (err error) {
		w.messages, err = strconv.Atoi(rest)
		return err
	},
	"progress": func(w *expectation, rest string) error {
		count, token, _ := strings.Cut(rest, " ")
		least, err := strconv.Atoi(count)
		if err != nil {
			return fmt.Errorf("progress %s: want a number and a token", rest)
		}
		value, err := decodeJSON([]byte(token))
		w.progress = &progressWant{least, value}
		return err
	},
	"capture": func(w *expectation, rest string) error {
		variable, path, _ := strings.Cut(rest, " ")
		w.captures = append(w.captures, capture{variable, path})
		return nil
	},
	"same-as": func(w *expectation, rest string) error {
		w.sameAs = rest
		return nil
	},
}

func (w *expectation) parseExpect(rest string) error {
	for word := range strings.FieldsSeq(rest) {
		number, err := strconv.Atoi(word)
		switch {
		case word == "result":
			w.result = true
		case word == "empty":
			w.empty = true
		case err != nil:
			return fmt.Errorf("expect %q: want statuses, codes, result or empty", word)
		case number < 0:
			w.codes = append(w.codes, number)
		default:
			w.statuses = append(w.statuses, number)
		}
	}
	return nil
}

func (w *expectation) addMatch(message int, rest string) error {
	fields := append(strings.SplitN(rest, " ", 3), "", "")
	m := match{message: message, path: fields[0], op: fields[1]}
	var err error
	switch text := fields[2]; m.op {
	case "=", "has":
		m.value, err = decodeJSON([]byte(text))
	case "~", "!~":
		m.pattern, err = regexp.Compile("(?s)" + text)
	case "is":
		m.kind = text
		if !slices.Contains([]string{"integer", "string", "object", "array", "boolean"}, text) {
			err = fmt.Errorf("unknown type %q", text)
		}
	case "absent":
	default:
		err = fmt.Errorf("unknown operator %q", m.op)
	}
	if err != nil {
		return fmt.Errorf("match %s: %w", rest, err)
	}
	w.matches = append(w.matches, m)
	return nil
}

// check compares an answer with what is wanted and keeps what is captured.
func (s *Step) check(got *answer, variables map[string]any) error {
	problems := append(s.want.checkHTTP(got), s.want.checkFilled(got, variables)...)
	if !s.want.reads() {
		return errors.Join(problems...)
	}
	messages, err := got.messages()
	if err == nil && len(messages) == 0 {
		err = errors.New("no JSON-RPC message in the answer")
	}
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	problems = append(problems, s.checkMessages(messages)...)
	problems = append(problems, s.want.keep(messages[len(messages)-1], variables)...)
	return errors.Join(problems...)
}

func (w *expectation) checkHTTP(got *answer) (problems []error) {
	if !slices.Contains(w.statuses, got.status) {
		problems = append(problems, fmt.Errorf("status %d, want %v: %.300s", got.status, w.statuses, got.body))
	}
	if w.empty && len(bytes.TrimSpace(got.body)) > 0 {
		problems = append(problems, fmt.Errorf("a body of %d bytes, want none: %.80q", len(got.body), got.body))
	}
	for _, h := range w.headers {
		if value := strings.Join(got.header.Values(h.name), ", "); !h.pattern.MatchString(value) {
			problems = append(problems, fmt.Errorf("header %s is %q, want /%s/", h.name, value, h.pattern))
		}
	}
	for _, name := range w.absent {
		if got.header.Values(name) != nil {
			problems = append(problems, fmt.Errorf("header %s is there, want it absent", name))
		}
	}
	return problems
}

// checkFilled compares with what has placeholders.
func (w *expectation) checkFilled(got *answer, variables map[string]any) (problems []error) {
	for _, h := range w.exact {
		want := []string{fill(h.value, variables)}
		if values := got.header.Values(h.name); !slices.Equal(values, want) {
			problems = append(problems, fmt.Errorf("header %s is %q, want %q", h.name, values, want))
		}
	}
	if w.document == "" {
		return problems
	}
	want, err := decodeJSON([]byte(fill(w.document, variables)))
	if err != nil {
		return append(problems, fmt.Errorf("document %s: %w", w.document, err))
	}
	body, err := decodeJSON(got.body)
	if err != nil || !reflect.DeepEqual(body, want) {
		problems = append(problems, fmt.Errorf("the body is %.500q, want %s", got.body, show(want)))
	}
	return problems
}

func (s *Step) checkMessages(messages []any) []error {
	last := messages[len(messages)-1]
	problems := s.want.checkCode(last)
	if err := s.checkID(last); err != nil {
		problems = append(problems, err)
	}
	for _, m := range s.want.matches {
		if err := m.check(messages); err != nil {
			problems = append(problems, err)
		}
	}
	if n := s.want.messages; n > 0 && len(messages) != n {
		problems = append(problems, fmt.Errorf("%d messages, want %d", len(messages), n))
	}
	if s.want.progress != nil {
		problems = append(problems, s.want.progress.check(messages)...)
	}
	return problems
}

func (w *expectation) checkCode(message any) (problems []error) {
	if version, _ := dig(message, "jsonrpc"); version != "2.0" {
		problems = append(problems, fmt.Errorf(`jsonrpc is %v, want "2.0"`, version))
	}
	code, failed := dig(message, "error.code")
	_, succeeded := dig(message, "result")
	switch {
	case failed == succeeded:
		problems = append(problems, errors.New("want exactly one of result and error"))
	case failed && !w.allows(code):
		text, _ := dig(message, "error.message")
		problems = append(problems, fmt.Errorf("code %v (%v), want %s", code, text, w.allowed()))
	case failed:
		if text, _ := dig(message, "error.message"); text == nil || text == "" {
			problems = append(problems, errors.New("error without a message"))
		}
	case succeeded && len(w.codes) > 0 && !w.result:
		problems = append(problems, fmt.Errorf("a result, want %s", w.allowed()))
	}
	return problems
}

func (w *expectation) allows(code any) bool {
	if len(w.codes) == 0 && !w.result {
		return true
	}
	number, err := strconv.Atoi(fmt.Sprint(code))
	return err == nil && slices.Contains(w.codes, number)
}

func (w *expectation) allowed() string {
	if w.result && len(w.codes) == 0 {
		return "a result"
	}
	return fmt.Sprintf("code in %v", w.codes)
}

var plainID = regexp.MustCompile(`^(-?[0-9]+|".*")$`)

func (s *Step) checkID(message any) error {
	want := s.want.id
	if want == "" && s.body == nil && plainID.MatchString(s.id) {
		want = s.id
	}
	got, ok := dig(message, "id")
	switch want {
	case "", "any":
		return nil
	case "absent":
		if ok && got != nil {
			return fmt.Errorf("id is %v, want none", got)
		}
		return nil
	}
	value, err := decodeJSON([]byte(want))
	if err != nil || !reflect.DeepEqual(got, value) {
		return fmt.Errorf("id is %v, want %s", show(got), want)
	}
	return nil
}

func (m *match) check(messages []any) error {
	index := m.message
	if index < 0 {
		index = len(messages) - 1
	}
	if index >= len(messages) {
		return fmt.Errorf("no message %d in the answer", index)
	}
	got, ok := dig(messages[index], m.path)
	if m.op == "absent" {
		if ok {
			return fmt.Errorf("%s is %s, want it absent", m.path, show(got))
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("%s is absent, want %s", m.path, m.wanted())
	}
	if !m.holds(got) {
		return fmt.Errorf("%s is %s, want %s", m.path, show(got), m.wanted())
	}
	return nil
}

func (m *match) holds(got any) bool {
	switch m.op {
	case "=":
		return reflect.DeepEqual(got, m.value)
	case "has":
		list, _ := got.([]any)
		return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, m.value) })
	case "~":
		return m.pattern.MatchString(plain(got))
	case "!~":
		return !m.pattern.MatchString(plain(got))
	default:
		return kindOf(got) == m.kind
	}
}

func (m *match) wanted() string {
	switch {
	case m.pattern != nil:
		return m.op + " /" + m.pattern.String() + "/"
	case m.op == "is":
		return "type " + m.kind
	}
	return m.op + " " + show(m.value)
}

func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func (w *progressWant) check(messages []any) (problems []error) {
	count, before := 0, -1.0
	for _, m := range messages[:len(messages)-1] {
		if method, _ := dig(m, "method"); method != "notifications/progress" {
			continue
		}
		count++
		if token, _ := dig(m, "params.progressToken"); !reflect.DeepEqual(token, w.token) {
			problems = append(problems, fmt.Errorf("progressToken is %s, want %s", show(token), show(w.token)))
		}
		value, _ := dig(m, "params.progress")
		number, err := strconv.ParseFloat(fmt.Sprint(value), 64)
		if err != nil || number <= before {
			problems = append(problems, fmt.Errorf("progress %v after %v does not increase", value, before))
		}
		before = number
	}
	if count < w.min {
		problems = append(problems, fmt.Errorf("%d progress notifications, want at least %d", count, w.min))
	}
	return problems
}

// keep stores what later steps use, and compares the result with an earlier one.
func (w *expectation) keep(last any, variables map[string]any) (problems []error) {
	if w.sameAs != "" {
		if result, _ := dig(last, "result"); !reflect.DeepEqual(result, variables[w.sameAs]) {
			problems = append(problems, fmt.Errorf("the result differs from the earlier one, %q", w.sameAs))
		}
	}
	for _, c := range w.captures {
		value, ok := dig(last, c.path)
		if !ok {
			problems = append(problems, fmt.Errorf("nothing at %s for the next step", c.path))
			continue
		}
		variables[c.variable] = value
	}
	return problems
}

// dig returns the value at a path of keys and indexes and whether there is one.
func dig(value any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[strings.ReplaceAll(part, "|", ".")]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// decodeJSON reads one JSON value and keeps the text of its numbers, so that 9007199254740993 is not its neighbour.
func decodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// plain is what a pattern is matched with: a string as it is, anything else as JSON.
func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// show is a value as JSON, short enough for an error.
func show(value any) string {
	const most = 200
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
