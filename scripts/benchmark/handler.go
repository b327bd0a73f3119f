package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"patchbay/dispatcher/endpoint"
	"patchbay/dispatcher/gateway"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

// functionARN stands for the tool's function where nothing is invoked.
const functionARN = "arn:aws:lambda:us-east-1:000000000000:function:read_gauge:1"

// structured is what every call's answer must hold.
const structured = `"structuredContent":{`

// quiet is a logger that does all the work of one and writes nowhere.
func quiet() *slog.Logger { return slog.New(slog.NewJSONHandler(io.Discard, nil)) }

// instant is functions that answer at once.
type instant struct{}

func (instant) Invoke(context.Context, string, []byte) ([]byte, error) {
	return []byte(toolAnswer), nil
}

func (instant) Stream(context.Context, string, []byte, func(invoke.Progress)) ([]byte, error) {
	return []byte(toolAnswer), nil
}

// catalogue is what the endpoint and the call need of the registry.
type catalogue interface {
	endpoint.Catalogue
	toolcall.Catalogue
}

// single is a catalogue of one tool.
type single struct{ entry *registry.Entry }

func (s single) Lookup(_ context.Context, name string) (*registry.Entry, error) {
	if name != s.entry.Tool.Name {
		return nil, registry.ErrUnknownTool
	}
	return s.entry, nil
}

func (single) Refresh(context.Context) error { return nil }

func (s single) Page(context.Context, string, registry.PageLimits, func(*registry.Entry) bool) (registry.Page, error) {
	return registry.Page{Definitions: []json.RawMessage{s.entry.Tool.Definition}}, nil
}

func (s single) Entries(context.Context) ([]*registry.Entry, error) {
	return []*registry.Entry{s.entry}, nil
}

// newEndpoint returns the dispatcher's handler, put together as its main does, over functions that answer at once.
func newEndpoint(tools catalogue) (http.Handler, error) {
	info, err := json.Marshal(mcp.Implementation{Name: "patchbay-benchmark", Version: "1.0.0"})
	if err != nil {
		return nil, fmt.Errorf("encoding serverInfo: %w", err)
	}
	return endpoint.New(endpoint.Config{
		ServerInfo: info,
		Catalogue:  tools,
		Caller: toolcall.New(toolcall.Config{
			Catalogue: tools, Functions: instant{}, ServerInfo: info, Log: quiet(),
		}),
		Facts: func(ctx context.Context) (endpoint.Facts, error) {
			caller, err := gateway.Principal(ctx)
			return endpoint.Facts{RequestID: gateway.FromContext(ctx).RequestID, Principal: caller}, err
		},
		Log: quiet(),
	}), nil
}

// gauge and level are the same tool's types for the SDK.
type (
	gauge struct {
		Station string `json:"station"`
		Unit    string `json:"unit"`
		Days    int    `json:"days"`
	}
	level struct {
		Station string  `json:"station"`
		Level   float64 `json:"level"`
		Trend   string  `json:"trend"`
	}
)

// newSDK returns the official Go SDK's handler with the same tool: stateless and answering in JSON, which is the
// cheapest that it can.
func newSDK() (http.Handler, error) {
	var definition struct{ InputSchema, OutputSchema json.RawMessage }
	if err := json.Unmarshal(toolJSON, &definition); err != nil {
		return nil, fmt.Errorf("reading the schemas of the tool: %w", err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "patchbay-benchmark", Version: "1.0.0"}, nil)
	sdk.AddTool(server, &sdk.Tool{
		Name: toolName, InputSchema: definition.InputSchema, OutputSchema: definition.OutputSchema,
	}, func(_ context.Context, _ *sdk.CallToolRequest, in gauge) (*sdk.CallToolResult, level, error) {
		return nil, level{Station: in.Station, Level: 873, Trend: "falling"}, nil
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), nil
}

// handler is part (a).
func (b *bench) handler(ctx context.Context) error {
	ours, theirs, err := handlers()
	if err != nil {
		return err
	}
	call := callOf(toolName)
	operations := make([]func() error, 4)
	for i, handler := range []http.Handler{ours, theirs} {
		if operations[i], err = served(handler, call, structured); err != nil {
			return err
		}
		if operations[2+i], err = adapted(handler, call); err != nil {
			return err
		}
	}
	costs, err := compare(ctx, pick(b, effort{200, 5e6}, effort{60, 4e6}), operations...)
	if err != nil {
		return err
	}
	b.addCosts("a", "call, handler", costs[0], "Go SDK", costs[1])
	b.addCosts("a", "call, event to answer", costs[2], "Go SDK, same adapter", costs[3])
	return nil
}

func handlers() (ours, theirs http.Handler, err error) {
	all, err := tools(1)
	if err != nil {
		return nil, nil, err
	}
	if ours, err = newEndpoint(single{&registry.Entry{Tool: all[0], Function: functionARN}}); err != nil {
		return nil, nil, err
	}
	theirs, err = newSDK()
	return ours, theirs, err
}

// adapted returns the operation of one message as a gateway's event, through the dispatcher's adapter.
func adapted(handler http.Handler, m message) (func() error, error) {
	event, err := m.event()
	if err != nil {
		return nil, err
	}
	answer := gateway.New(handler, gateway.Options{Logger: quiet()})
	once := func() (int, error) {
		out, err := answer(context.Background(), event)
		if err != nil {
			return 0, err
		}
		return read(out)
	}
	size, err := once()
	if err != nil {
		return nil, err
	}
	return func() error {
		if n, err := once(); err != nil || n != size {
			return fmt.Errorf("an event was answered with %d bytes instead of %d: %w", n, size, err)
		}
		return nil
	}, nil
}

// addCosts adds the rows of a handler beside those of its anchor.
func (b *bench) addCosts(part, what string, measured cost, anchorName string, anchor cost) {
	const goalTime, goalBytes = 0.2, 0.1
	b.report.add(Row{Part: part, What: what + ", processor time", Unit: nanoseconds, Measured: measured.nanoseconds,
		AnchorName: anchorName, Anchor: anchor.nanoseconds, Goal: goalTime})
	b.report.add(Row{Part: part, What: what + ", memory", Unit: octets, Measured: measured.bytes,
		AnchorName: anchorName, Anchor: anchor.bytes, Goal: goalBytes})
	b.report.add(Row{Part: part, What: what + ", allocations", Unit: allocations, Measured: measured.allocations,
		AnchorName: anchorName, Anchor: anchor.allocations})
}
