package toolcall_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

// warm is a catalogue of one tool, and its function, which answers at once.
type warm struct{ entry *registry.Entry }

func (w warm) Lookup(context.Context, string) (*registry.Entry, error) { return w.entry, nil }

func (warm) Refresh(context.Context) error { return nil }

func (warm) Invoke(context.Context, string, []byte) ([]byte, error) {
	return []byte(`{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`), nil
}

func (w warm) Stream(ctx context.Context, name string, payload []byte, _ func(invoke.Progress)) ([]byte, error) {
	return w.Invoke(ctx, name, payload)
}

func BenchmarkCall(b *testing.B) {
	tool, err := contract.Decode(json.RawMessage(`{"name":"greet","description":"d","inputSchema":{"type":"object",
		"properties":{"who":{"type":"string"},"mood":{"enum":["good","bad"]},"times":{"type":"integer"}},
		"additionalProperties":false},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},
		"required":["n"]}}`), json.RawMessage(`{}`))
	if err != nil {
		b.Fatal(err)
	}
	parts := warm{&registry.Entry{Tool: tool, Function: "arn:aws:lambda:r:1:function:greet:1"}}
	caller := toolcall.New(toolcall.Config{
		Catalogue: parts, Functions: parts, ServerInfo: json.RawMessage(serverInfo),
		Log:     slog.New(slog.NewJSONHandler(io.Discard, nil)),
		Metrics: metrics.New(io.Discard, metrics.Options{Namespace: "Patchbay", Deployment: "desk-prod"}),
	})
	request := &toolcall.Request{
		RequestID: "r", ProtocolVersion: mcp.Version20260728, Modern: true, Header: http.Header{},
		Params: mcp.Params{
			Name: "greet", HasName: true, Arguments: json.RawMessage(`{"who":"you","mood":"good","times":3}`),
		},
	}
	b.ReportAllocs()
	for b.Loop() {
		request.Deadline = time.Now().Add(time.Minute)
		if _, err := caller.Call(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}
