package endpoint_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"patchbay/dispatcher/endpoint"
	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

const benchMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// benchParts is a catalogue of one tool, and its function, which answers at once.
type benchParts struct{ entry *registry.Entry }

func (p benchParts) Lookup(context.Context, string) (*registry.Entry, error) { return p.entry, nil }

func (benchParts) Refresh(context.Context) error { return nil }

func (p benchParts) Page(
	context.Context, string, registry.PageLimits, func(*registry.Entry) bool,
) (registry.Page, error) {
	return registry.Page{Definitions: []json.RawMessage{p.entry.Tool.Definition}}, nil
}

func (p benchParts) Entries(context.Context) ([]*registry.Entry, error) {
	return []*registry.Entry{p.entry}, nil
}

func (benchParts) Invoke(context.Context, string, []byte) ([]byte, error) {
	return []byte(`{"content":[{"type":"text","text":"{\"level\":873}"}],"structuredContent":{"level":873}}`), nil
}

func (p benchParts) Stream(ctx context.Context, name string, payload []byte, _ func(invoke.Progress)) ([]byte, error) {
	return p.Invoke(ctx, name, payload)
}

func benchEntry(b *testing.B) *registry.Entry {
	tool, err := contract.Decode(json.RawMessage(`{"name":"read_gauge","description":"d","inputSchema":{"type":"object",
		"properties":{"station":{"type":"string","minLength":2},"unit":{"enum":["cm","m"]},"days":{"type":"integer"}},
		"required":["station"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{
		"level":{"type":"number"}},"required":["level"]}}`), json.RawMessage(`{}`))
	if err != nil {
		b.Fatal(err)
	}
	return &registry.Entry{Tool: tool, Function: "arn:aws:lambda:r:1:function:read_gauge:1"}
}

func benchHandler(b *testing.B) http.Handler {
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	parts := benchParts{benchEntry(b)}
	info := json.RawMessage(`{"name":"bench","version":"1"}`)
	counters := metrics.New(io.Discard, metrics.Options{Namespace: "Patchbay", Deployment: "desk-prod"})
	return endpoint.New(endpoint.Config{
		ServerInfo: info,
		Catalogue:  parts,
		Caller: toolcall.New(toolcall.Config{
			Catalogue: parts, Functions: parts, ServerInfo: info, Log: log, Metrics: counters,
		}),
		Facts:   func(context.Context) (endpoint.Facts, error) { return endpoint.Facts{RequestID: "r"}, nil },
		Log:     log,
		Metrics: counters,
	})
}

// sink is a ResponseWriter that keeps only the status.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

func benchmark(b *testing.B, method, name, params string) {
	handler := benchHandler(b)
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + benchMeta + `}}`
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {mcp.Version20260728}, "Mcp-Method": {method}, "Mcp-Name": {name},
	}
	b.ReportAllocs()
	for b.Loop() {
		request := &http.Request{
			Method: http.MethodPost, Header: header,
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}
		w := &sink{header: make(http.Header, 8)}
		handler.ServeHTTP(w, request)
		if w.status != http.StatusOK {
			b.Fatal("status", w.status)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	benchmark(b, mcp.MethodToolsCall, "read_gauge",
		`"name":"read_gauge","arguments":{"station":"Lobith","unit":"cm","days":3},`)
}

func BenchmarkList(b *testing.B) { benchmark(b, mcp.MethodToolsList, "", "") }

func BenchmarkDiscover(b *testing.B) { benchmark(b, mcp.MethodDiscover, "", "") }
