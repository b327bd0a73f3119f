package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const serverJSON = `{"name":"s","version":"1","title":"The server","instructions":"Read first."}`

// dispatch starts a dispatcher with a server.json and environment, and returns what it answers to one event.
type dispatch struct {
	server      string
	environment map[string]string
	log         bytes.Buffer
}

func (d *dispatch) start(t *testing.T) (func(event string) answer, error) {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "server.json"), []byte(d.server), 0o600); err != nil {
		t.Fatal(err)
	}
	d.environment["LAMBDA_TASK_ROOT"] = root
	d.environment["PATCHBAY_BUFFERED"] = "true"
	handler, err := newHandler(minimalWith(d.environment), slog.New(slog.NewJSONHandler(&d.log, nil)))
	return func(event string) answer {
		reader, err := handler(t.Context(), json.RawMessage(event))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return got
	}, err
}

type answer struct {
	StatusCode int
	Body       string
}

// discover is the event of a server/discover with the given members of requestContext and a header more.
func discover(context, origin string) string {
	body := `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	event, err := json.Marshal(map[string]any{
		"httpMethod": "POST", "path": "/mcp", "body": body, "requestContext": json.RawMessage(context),
		"multiValueHeaders": map[string][]string{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"MCP-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"server/discover"}, "Origin": {origin},
		},
	})
	if err != nil {
		panic(err)
	}
	return string(event)
}

// What server.json and the environment say is what clients see.
func TestDispatcherSaysWhatItIsConfiguredTo(t *testing.T) {
	t.Parallel()
	d := &dispatch{server: serverJSON, environment: map[string]string{
		"PATCHBAY_ORIGINS": "https://app.example.com", "PATCHBAY_CACHE_TTL_MS": "1500", "PATCHBAY_CACHE_SCOPE": "private",
	}}
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(discover(`{"requestId":"r-1"}`, "https://app.example.com"))
	var body struct {
		Result struct {
			TTLMs        int
			CacheScope   string
			Instructions string
			Meta         map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil || got.StatusCode != 200 {
		t.Fatalf("got %+v: %v", got, err)
	}
	result := body.Result
	if result.TTLMs != 1500 || result.CacheScope != "private" || result.Instructions != "Read first." {
		t.Errorf("got %+v", result)
	}
	const info = `{"name":"s","title":"The server","version":"1"}`
	if diff := cmp.Diff(info, string(result.Meta["io.modelcontextprotocol/serverInfo"])); diff != "" {
		t.Errorf("serverInfo (-want +got):\n%s", diff)
	}
	for _, origin := range []string{"https://evil.example", "http://localhost:6274"} {
		if got := answer(discover(`{}`, origin)); got.StatusCode != 403 {
			t.Errorf("Origin %s: got %+v", origin, got)
		}
	}
}

func TestLoopbackOriginsAreAllowedWhereConfigured(t *testing.T) {
	t.Parallel()
	d := &dispatch{server: serverJSON, environment: map[string]string{"PATCHBAY_LOOPBACK_ORIGINS": "true"}}
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(discover(`{}`, "http://localhost:6274")); got.StatusCode != 200 {
		t.Errorf("got %+v", got)
	}
	if got := answer(discover(`{}`, "https://app.example.com")); got.StatusCode != 403 {
		t.Errorf("got %+v", got)
	}
}

// An authorizer that names nobody is a fault of the deployment: the client learns the request's id, the log the cause.
func TestAnAuthorizerThatNamesNobody(t *testing.T) {
	t.Parallel()
	d := &dispatch{server: serverJSON, environment: map[string]string{"PATCHBAY_LOOPBACK_ORIGINS": "true"}}
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(discover(`{"requestId":"r-1","authorizer":{"tenant":"north"}}`, "http://localhost"))
	const want = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error (request id r-1)"}}`
	if got.StatusCode != 500 || got.Body != want {
		t.Errorf("got %+v, want 500 %s", got, want)
	}
	for _, part := range []string{`"requestId":"r-1"`, `"method":"server/discover"`, "subject or clientId"} {
		if !strings.Contains(d.log.String(), part) {
			t.Errorf("the log has no %s: %s", part, &d.log)
		}
	}
}

func TestServerFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"name":"s"}`:                               "version",
		`{"name":"s","version":"1","Name":"t"}`:      "Name",
		`{"name":"s","name":"t","version":"1"}`:      "name",
		`{"name":"s","version":"1","websiteURL":""}`: "websiteURL",
		`not JSON`: "server.json",
	} {
		d := &dispatch{server: file, environment: map[string]string{}}
		if _, err := d.start(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that names %s", file, err, want)
		}
	}
}
