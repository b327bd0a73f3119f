package smokecheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"patchbay/shared/jsonrpc"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// request is one over plain HTTP, wrong in what a check makes wrong.
type request struct {
	url    string
	method string
	header http.Header
	body   string
	// withoutToken: the caller's Authorization is not sent.
	withoutToken bool
}

// modern is a right request of a method, with these further params.
func (r *run) modern(method string, params map[string]any) request {
	all := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    Revision,
		"io.modelcontextprotocol/clientInfo":         map[string]string{"name": clientName, "version": clientVersion},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	maps.Copy(all, params)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all})
	if err != nil {
		panic("encoding a request: " + err.Error())
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("MCP-Protocol-Version", Revision)
	header.Set("Mcp-Method", method)
	if name, ok := params["name"].(string); ok {
		header.Set("Mcp-Name", name)
	}
	return request{url: r.URL, method: http.MethodPost, header: header, body: string(body)}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	rpc    rpcAnswer
}

// rpcAnswer is a JSON-RPC response; zero when the body is none.
type rpcAnswer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// send sends a request and reads the whole answer.
func (r *run) send(ctx context.Context, request request) (answer, error) {
	sent, err := http.NewRequestWithContext(ctx, request.method, request.url, strings.NewReader(request.body))
	if err != nil {
		return answer{}, fmt.Errorf("making the request: %w", err)
	}
	sent.Header = request.header.Clone()
	client := r.client
	if request.withoutToken {
		client = r.stranger
	}
	response, err := client.Do(sent)
	if err != nil {
		return answer{}, fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("status %d, and an answer that breaks off: %w", response.StatusCode, err)
	}
	got := answer{status: response.StatusCode, header: response.Header, body: body}
	if events, ok := got.events(); ok && len(events) > 0 {
		body = []byte(events[len(events)-1])
	}
	_ = json.Unmarshal(body, &got.rpc) // What is no JSON-RPC response has neither result nor error.
	r.gatewayIsSAM = r.gatewayIsSAM || strings.HasPrefix(response.Header.Get("Server"), "Werkzeug/")
	return got, nil
}

// isNowhere reports whether there is no MCP endpoint where the answer is from. One that does not know a method says 404
// too, with a code of its own (basic/transports/streamable-http).
func (a answer) isNowhere() bool {
	return a.status == http.StatusNotFound && (a.rpc.Error == nil || a.rpc.Error.Code != jsonrpc.CodeMethodNotFound)
}

// events are the data of the answer's events; ok is false when it is no stream of events.
func (a answer) events() (events []string, ok bool) {
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return nil, false
	}
	normal := bytes.ReplaceAll(a.body, []byte("\r\n"), []byte("\n"))
	for block := range strings.SplitSeq(string(normal), "\n\n") {
		var data []string
		for line := range strings.Lines(block) {
			if value, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data:"); found {
				data = append(data, strings.TrimPrefix(value, " "))
			}
		}
		if data != nil {
			events = append(events, strings.Join(data, "\n"))
		}
	}
	return events, true
}

// String is the answer in short.
func (a answer) String() string {
	text := fmt.Sprintf("status %d", a.status)
	if a.rpc.Error != nil {
		return fmt.Sprintf("%s, error %d %q", text, a.rpc.Error.Code, shorten(a.rpc.Error.Message))
	}
	if len(a.body) == 0 {
		return text + " without a body"
	}
	return text + ", " + shorten(string(a.body))
}

// shorten keeps a line of the report readable.
func shorten(text string) string {
	const longest = 160
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// newClient returns a client that sends the header with every request and follows no redirect: an MCP endpoint gives
// none, and a token is not carried elsewhere.
func newClient(header http.Header) *http.Client {
	return &http.Client{
		Transport: withHeader{header, http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

type withHeader struct {
	header http.Header
	next   http.RoundTripper
}

// RoundTrip sends a copy of the request with the header.
func (w withHeader) RoundTrip(request *http.Request) (*http.Response, error) {
	copied := request.Clone(request.Context())
	for name, values := range w.header {
		copied.Header[name] = values
	}
	return w.next.RoundTrip(copied)
}
