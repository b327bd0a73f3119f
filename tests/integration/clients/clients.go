// Package clients drives the official MCP clients against an endpoint, so that one table of tests covers them all.
//
// Each client lists the tools, makes the calls of a Script and reports what it saw. The Go SDK's client runs in the
// test's process; the TypeScript and Python clients and the Inspector's CLI are programs that print one line of JSON.
package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// Revision is the protocol revision that pinned clients ask for.
const Revision = "2026-07-28"

// EarlierRevision is the newest revision before it.
const EarlierRevision = "2025-11-25"

// runWithin bounds one client's run, so that a client that waits forever fails its test.
const runWithin = 2 * time.Minute

// Script is what a client does after it has connected and listed the tools.
type Script struct {
	Calls []Call `json:"calls"`
	// Consent is the answer of a person whom the server asks to confirm, where the client can ask one; false declares no
	// such person.
	Consent bool `json:"consent,omitempty"`
	// SignIn lets the client go through its own OAuth flow when the server asks for a token; nil leaves it without.
	SignIn *SignIn `json:"signIn,omitempty"`
}

// Call is one call of a tool.
type Call struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object; nil for an empty one.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Progress asks for progress notifications, where the client can.
	Progress bool `json:"progress,omitempty"`
	// PauseSeconds is how long the client waits before the call, so that a token expires.
	PauseSeconds float64 `json:"pauseSeconds,omitempty"`
}

// pause waits as long as the call says.
func (c Call) pause(ctx context.Context) {
	select {
	case <-time.After(time.Duration(c.PauseSeconds * float64(time.Second))):
	case <-ctx.Done():
	}
}

// Report is what a client saw.
type Report struct {
	// ProtocolVersion is the revision that client and server agreed on; empty where the client does not tell.
	ProtocolVersion string `json:"protocolVersion"`
	// Server is the server's name; empty where the client does not tell.
	Server string `json:"server"`
	// Tools are the names in tools/list, in order, from all pages.
	Tools []string `json:"tools"`
	// Calls are in the order of the script.
	Calls []CallReport `json:"calls"`
}

// CallReport is what a client saw of one call: a result, or an error in the client's own words.
type CallReport struct {
	Tool string `json:"tool"`
	// Result is the CallToolResult as the client understood it.
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
	Progress []Progress      `json:"progress"`
}

// Progress is one progress notification.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

// Client is one official client in one mode.
type Client struct {
	Name string
	// Modern says which revision the client must end up with on a server that offers both.
	Modern bool
	// Progress says whether the client can ask for progress.
	Progress bool
	// Missing says what the client needs and this machine lacks; empty when it can run.
	Missing string
	// Run connects to the endpoint, lists, calls, and reports. An error means that it could not connect or list.
	Run func(ctx context.Context, url string, script Script) (Report, error)
}

// Available returns all clients in all modes. Root is the repository's root folder, where node_modules and .patchbay
// lie.
func Available(root string) []Client {
	var all []Client
	all = append(all, goClients()...)
	all = append(all, typeScriptClients(root)...)
	all = append(all, pythonClients(root)...)
	return append(all, inspectors(root)...)
}

// Each runs a subtest for every client. One that this machine cannot run is skipped with the reason; where required
// is true, as in CI, it fails.
func Each(t *testing.T, root string, required bool, test func(t *testing.T, client Client)) {
	t.Helper()
	for _, client := range Available(root) {
		t.Run(client.Name, func(t *testing.T) {
			switch {
			case client.Missing != "" && required:
				t.Fatalf("%s cannot run: %s", client.Name, client.Missing)
			case client.Missing != "":
				t.Skipf("%s cannot run: %s", client.Name, client.Missing)
			}
			test(t, client)
		})
	}
}

// Call runs the client with a script of these calls and fails the test when the client could not connect or list.
func (c Client) Call(t *testing.T, url string, calls ...Call) Report {
	t.Helper()
	return c.Play(t, url, Script{Calls: calls})
}

// Play runs the client with the script and fails the test when the client could not connect or list.
func (c Client) Play(t *testing.T, url string, script Script) Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runWithin)
	defer cancel()
	report, err := c.Run(ctx, url, script)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Calls) != len(script.Calls) {
		t.Fatalf("%s reported %d calls, want %d", c.Name, len(report.Calls), len(script.Calls))
	}
	return report
}

// Result is the part of a CallToolResult that tests look at.
type Result struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent map[string]any `json:"structuredContent"`
	IsError           bool           `json:"isError"`
}

// Text is the first text of the content.
func (r Result) Text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// Decode returns the call's result; an error when the client saw none.
func (r CallReport) Decode() (Result, error) {
	var result Result
	if r.Error != "" {
		return result, fmt.Errorf("calling %s: %s", r.Tool, r.Error)
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		return result, fmt.Errorf("decoding the result of %s: %w", r.Tool, err)
	}
	return result, nil
}
