package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Step is one request and what its answer must be.
type Step struct {
	line int

	verb   string // HTTP method
	target string // of the request; empty for that of the endpoint
	// rpc is the JSON-RPC method; empty for a request without a body.
	rpc     string
	modern  bool
	version string // header MCP-Protocol-Version; empty for none
	id      string // JSON text; empty for a notification

	params    []member
	hasParams bool
	meta      map[string]string // key → JSON text
	metaText  *string           // replaces meta; "-" for none

	edits     []headerEdit
	body      []byte // replaces the message
	mutations map[string]string

	want expectation
}

// member is one member of a JSON object, its value as JSON text.
type member struct{ key, value string }

// headerEdit changes the default headers: drop removes those of the name, and unless skip is set one is added.
type headerEdit struct {
	name, value string
	drop, skip  bool
}

type header struct{ name, value string }

func newStep() *Step { return &Step{meta: map[string]string{}, mutations: map[string]string{}} }

func modernStep(method string) *Step {
	s := newStep()
	s.verb, s.rpc, s.id, s.version, s.modern, s.hasParams = "POST", method, "1", Revision, true, true
	s.meta = defaultMeta()
	return s
}

func defaultMeta() map[string]string {
	return map[string]string{
		metaVersion:      strconv.Quote(Revision),
		metaClientInfo:   `{"name":"wire-cases","version":"1.0.0"}`,
		metaCapabilities: `{}`,
	}
}

func metaText(meta map[string]string) string {
	var members []member
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		members = append(members, member{key, meta[key]})
	}
	return objectText(members)
}

func objectText(members []member) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = quoteJSON(m.key) + ":" + m.value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // Strings can always be encoded.
	}
	return string(text)
}

// objectMembers splits a JSON object into its members, in order.
func objectMembers(object string) ([]member, error) {
	decoder := json.NewDecoder(strings.NewReader(object))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("params %q: want a JSON object", object)
	}
	var members []member
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("params %q: %w", object, err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("params %q: %w", object, err)
		}
		members = append(members, member{key.(string), string(value)})
	}
	return members, nil
}

// setParam sets a member of params, in place when it is there already.
func (s *Step) setParam(key, value string) {
	s.hasParams = true
	for i, m := range s.params {
		if m.key == key {
			s.params[i].value = value
			return
		}
	}
	s.params = append(s.params, member{key, value})
}

// message is the text of the JSON-RPC message that the step describes.
func (s *Step) message() string {
	members := []member{{"jsonrpc", `"2.0"`}}
	if s.id != "" {
		members = append(members, member{"id", s.id})
	}
	members = append(members, member{"method", quoteJSON(s.rpc)})
	if s.hasParams {
		params := s.params
		if meta, ok := s.metaMember(); ok {
			params = append(slices.Clip(params), meta)
		}
		members = append(members, member{"params", objectText(params)})
	}
	return objectText(members)
}

func (s *Step) metaMember() (member, bool) {
	if s.metaText != nil {
		return member{"_meta", *s.metaText}, *s.metaText != "-"
	}
	return member{"_meta", metaText(s.meta)}, len(s.meta) > 0
}

// headers are those that a correct client would send with the step's request, then the step's edits.
func (s *Step) headers() []header {
	list := []header{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
	}
	if s.version != "" {
		list = append(list, header{"MCP-Protocol-Version", s.version})
	}
	if s.modern {
		list = append(list, header{"Mcp-Method", s.rpc})
		if name, ok := s.name(); ok {
			list = append(list, header{"Mcp-Name", name})
		}
	}
	for _, e := range s.edits {
		list = e.apply(list)
	}
	return list
}

func (e headerEdit) apply(list []header) []header {
	if e.drop {
		list = slices.DeleteFunc(list, func(h header) bool { return strings.EqualFold(h.name, e.name) })
	}
	if e.skip {
		return list
	}
	return append(list, header{e.name, e.value})
}

// name is what a correct client puts into Mcp-Name (basic/transports/streamable-http#standard-request-headers).
func (s *Step) name() (string, bool) {
	key := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[s.rpc]
	for _, m := range s.params {
		var text string
		if m.key == key && json.Unmarshal([]byte(m.value), &text) == nil {
			return text, true
		}
	}
	return "", false
}

// request returns the bytes of the whole HTTP request.
func (s *Step) request(endpoint string, variables map[string]any) ([]byte, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("parsing the endpoint's URL: %w", err)
	}
	body, err := s.payload(variables)
	if err != nil {
		return nil, err
	}
	target := u.RequestURI()
	if s.target != "" {
		target = fill(s.target, variables)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", s.verb, target, u.Host)
	for _, h := range s.headers() {
		fmt.Fprintf(&b, "%s: %s\r\n", h.name, fill(h.value, variables))
	}
	if s.verb == "POST" || len(body) > 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes(), nil
}

// fill puts the variables that are strings into a text.
func fill(text string, variables map[string]any) string {
	for name, value := range variables {
		if replacement, ok := value.(string); ok {
			text = strings.ReplaceAll(text, "${"+name+"}", replacement)
		}
	}
	return text
}

func (s *Step) payload(variables map[string]any) ([]byte, error) {
	if s.body != nil || s.rpc == "" {
		return s.body, nil
	}
	text := s.message()
	for name, value := range variables {
		placeholder := "${" + name + "}"
		if !strings.Contains(text, placeholder) {
			continue
		}
		replacement, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("variable %s is %v, want a string", name, value)
		}
		quoted := quoteJSON(mutate(replacement, s.mutations[name]))
		text = strings.ReplaceAll(text, placeholder, quoted[1:len(quoted)-1])
	}
	return []byte(text), nil
}

// mutate changes a captured value as the mutate directive says.
func mutate(value, how string) string {
	at := len(value) - 1
	switch how {
	case "":
		return value
	case "cut":
		return value[:len(value)/2]
	case "middle":
		at = len(value) / 2
	}
	other := "A"
	if value[at] == 'A' {
		other = "B"
	}
	return value[:at] + other + value[at+1:]
}
