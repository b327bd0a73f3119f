package smokecheck

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// unknownTool is a name that no server has, so that a call of it calls nothing.
const unknownTool = "patchbay_smoke_no_such_tool"

// errorPath is a wrong request and what a healthy server answers.
type errorPath struct {
	name, expected string
	request        func(*run) request
	// statuses are the allowed ones, and code the JSON-RPC error's; 0 means that there need be none.
	statuses []int
	code     int
	// gateway: the answer is the gateway's own, which SAM's local API does not imitate.
	gateway bool
}

var errorPaths = []errorPath{
	{
		name: "header mismatch", expected: "400 with -32020 when Mcp-Method is not the body's method",
		request: func(r *run) request {
			wrong := r.modern("tools/list", nil)
			wrong.header.Set("Mcp-Method", "server/discover")
			return wrong
		},
		statuses: []int{http.StatusBadRequest}, code: -32020,
	},
	{
		name: "unknown tool", expected: "-32602 for a tool that does not exist",
		request: func(r *run) request {
			return r.modern("tools/call", map[string]any{"name": unknownTool, "arguments": map[string]any{}})
		},
		statuses: []int{http.StatusOK, http.StatusBadRequest}, code: -32602,
	},
	{
		name: "bad JSON", expected: "400 with -32700 for a body that is no JSON",
		request: func(r *run) request {
			wrong := r.modern("tools/list", nil)
			wrong.body = `{"jsonrpc":"2.0",`
			return wrong
		},
		statuses: []int{http.StatusBadRequest}, code: -32700,
	},
	{
		name: "GET", expected: "405 for a GET of the endpoint",
		request: func(r *run) request {
			header := http.Header{"Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {Revision}}
			return request{url: r.URL, method: http.MethodGet, header: header}
		},
		statuses: []int{http.StatusMethodNotAllowed},
	},
	{
		name: "missing route", expected: "404 for a path beside the endpoint",
		request: func(r *run) request {
			elsewhere := r.modern("server/discover", nil)
			elsewhere.url = r.endpoint.ResolveReference(&url.URL{Path: "patchbay-smoke-no-such-route"}).String()
			return elsewhere
		},
		statuses: []int{http.StatusNotFound}, gateway: true,
	},
	{
		name: "wrong Origin", expected: "403 for a web page of another site",
		request: func(r *run) request {
			foreign := r.modern("server/discover", nil)
			foreign.header.Set("Origin", "https://patchbay-smoke.invalid")
			return foreign
		},
		statuses: []int{http.StatusForbidden},
	},
}

// errorPath sends a wrong request and compares the answer.
func (r *run) errorPath(ctx context.Context, path errorPath) (string, error) {
	if path.gateway && r.gatewayIsSAM {
		return "", &skip{"SAM's local API does not know the gateway's own responses"}
	}
	got, err := r.send(ctx, path.request(r))
	if err != nil {
		return "", err
	}
	if !slices.Contains(path.statuses, got.status) {
		return "", fmt.Errorf("%s", got)
	}
	if path.code != 0 && (got.rpc.Error == nil || got.rpc.Error.Code != path.code) {
		return "", fmt.Errorf("%s", got)
	}
	if inside := internals(string(got.body)); inside != "" {
		return "", fmt.Errorf("an answer that shows %s: %s", inside, got)
	}
	return got.String(), nil
}

// internals is what of the inside an error shows; empty when nothing is known to be there.
func internals(body string) string {
	for _, mark := range []string{"goroutine ", "arn:aws", "panic:", "Traceback"} {
		if strings.Contains(body, mark) {
			return strings.TrimSpace(mark)
		}
	}
	return ""
}
