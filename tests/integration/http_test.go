package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// post sends a modern request and returns the response; the caller closes its body.
func post(t *testing.T, url, method, name, params string) *http.Response {
	t.Helper()
	return send(t, url, method, name, message(method, params))
}

// send is post with a message of one's own.
func send(t *testing.T, url, method, name, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("MCP-Protocol-Version", "2026-07-28")
	request.Header.Set("Mcp-Method", method)
	if name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// message is a request whose params are the given members and the required _meta, which may hold a progress token.
func message(method, params string) string {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}`
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)
}

// answer is a JSON-RPC response.
type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// callResult is a CallToolResult.
type callResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

func (r callResult) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// call calls a tool over plain HTTP and returns its result.
func call(t *testing.T, url, tool, arguments string) callResult {
	t.Helper()
	return decodeResult(t, readAnswer(t, post(t, url, "tools/call", tool, callParams(tool, arguments))))
}

func callParams(tool, arguments string) string {
	return fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)
}

func decodeResult(t *testing.T, a answer) callResult {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("got error %d %s", a.Error.Code, a.Error.Message)
	}
	var result callResult
	if err := json.Unmarshal(a.Result, &result); err != nil {
		t.Fatalf("decoding %s: %v", a.Result, err)
	}
	return result
}

// readAnswer reads the whole answer, JSON or stream, and returns its last message.
func readAnswer(t *testing.T, response *http.Response) answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		events := strings.Split(strings.TrimSpace(string(body)), "\n\n")
		body = []byte(strings.TrimPrefix(events[len(events)-1], "data: "))
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("status %d, answer %q: %v", response.StatusCode, body, err)
	}
	return a
}

// events reads a stream event by event.
type events struct{ scanner *bufio.Scanner }

func newEvents(r io.Reader) *events {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 8<<20)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if at := bytes.Index(data, []byte("\n\n")); at >= 0 {
			return at + 2, data[:at], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	return &events{scanner}
}

// next returns the data of the next event that is no comment; empty at the end.
func (e *events) next() string {
	for e.scanner.Scan() {
		if data, ok := strings.CutPrefix(e.scanner.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}
