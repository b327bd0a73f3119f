package benchmark

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
	"patchbay/shared/contract"
	"patchbay/shared/mcp"
)

//go:embed functions/read_gauge/tool.json
var toolJSON []byte

// toolName is the tool that all parts call.
const toolName = "read_gauge"

const requestMeta = `"_meta":{"` + mcp.MetaProtocolVersion + `":"` + mcp.Version20260728 + `","` +
	mcp.MetaClientInfo + `":{"name":"bench","version":"1.0.0"},"` + mcp.MetaClientCapabilities + `":{}}`

// arguments of every call; one of the values is of an enum.
const arguments = `{"station":"Lobith","unit":"cm","days":3}`

// toolAnswer is what the tool's function answers to them.
const toolAnswer = `{"content":[{"type":"text",` +
	`"text":"{\"station\":\"Lobith\",\"level\":873,\"trend\":\"falling\"}"}],` +
	`"structuredContent":{"station":"Lobith","level":873,"trend":"falling"}}`

// message is one request to the endpoint.
type message struct {
	method, name, body string
	// token is an access token; empty for none.
	token string
}

func callOf(name string) message {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments +
		`,` + requestMeta + `}}`
	return message{method: mcp.MethodToolsCall, name: name, body: body}
}

func plain(method string) message {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + requestMeta + `}}`
	return message{method: method, body: body}
}

// header is what a client sends with the message.
func (m message) header() http.Header {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("User-Agent", "patchbay-bench")
	header.Set(mcp.HeaderProtocolVersion, mcp.Version20260728)
	header.Set(mcp.HeaderMethod, m.method)
	if m.name != "" {
		header.Set(mcp.HeaderName, m.name)
	}
	if m.token != "" {
		header.Set("Authorization", "Bearer "+m.token)
	}
	return header
}

// request makes the HTTP request for a handler in process.
func (m message) request(header http.Header) *http.Request {
	request := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(m.body))
	request.Header = header
	return request
}

// event returns the event that the gateway makes of the message.
func (m message) event() ([]byte, error) {
	recorder := &recorder{}
	gateway := localgateway.New(localgateway.Options{Invoker: recorder, FunctionARN: "none", Logger: quiet()})
	gateway.ServeHTTP(httptest.NewRecorder(), m.request(m.header()))
	if recorder.event == nil {
		return nil, errors.New("the gateway made no event of a request")
	}
	return recorder.event, nil
}

// recorder is a gateway's invoker that keeps the event and refuses the invocation.
type recorder struct{ event []byte }

func (r *recorder) Invoke(_ context.Context, _ string, event []byte) (*locallambda.Response, error) {
	r.event = event
	return nil, errors.New("recorded")
}

// discard is a ResponseWriter that keeps the status and counts the body.
type discard struct {
	header http.Header
	status int
	size   int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) WriteHeader(status int) { d.status = status }

func (d *discard) Write(p []byte) (int, error) {
	if d.status == 0 {
		d.status = http.StatusOK
	}
	d.size += len(p)
	return len(p), nil
}

// served returns the operation of one message through a handler. It first checks that the answer is what it should be.
func served(handler http.Handler, m message, answer string) (func() error, error) {
	header := m.header()
	recorded := httptest.NewRecorder()
	handler.ServeHTTP(recorded, m.request(header))
	if recorded.Code != http.StatusOK || !strings.Contains(recorded.Body.String(), answer) {
		return nil, fmt.Errorf("%s was answered with status %d and %.500s; %s was expected in it",
			m.method, recorded.Code, recorded.Body, answer)
	}
	size := recorded.Body.Len()
	return func() error {
		w := &discard{header: make(http.Header, 8)}
		handler.ServeHTTP(w, m.request(header))
		if w.status != http.StatusOK || w.size != size {
			return fmt.Errorf("%s was answered with status %d and %d bytes", m.method, w.status, w.size)
		}
		return nil
	}, nil
}

// read drains an answer and returns how long it was.
func read(r io.Reader) (int, error) {
	n, err := io.Copy(io.Discard, r)
	if closer, ok := r.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	return int(n), err
}

// tools returns n tools that differ in their names; a single one has the tool's own.
func tools(n int) ([]*contract.Tool, error) {
	tool, problems := contract.Parse("tool.json", toolJSON)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if n == 1 {
		return []*contract.Tool{tool}, nil
	}
	rules, err := json.Marshal(tool.Contract)
	if err != nil {
		return nil, fmt.Errorf("encoding a contract: %w", err)
	}
	all := make([]*contract.Tool, 0, n)
	for i := range n {
		definition := bytes.Replace(tool.Definition, []byte(toolName), []byte(numbered(i)), 1)
		tool, err := contract.Decode(definition, rules)
		if err != nil {
			return nil, fmt.Errorf("numbering a tool: %w", err)
		}
		all = append(all, tool)
	}
	return all, nil
}

func numbered(i int) string { return fmt.Sprintf("%s_%05d", toolName, i) }
