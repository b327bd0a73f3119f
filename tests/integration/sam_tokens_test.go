package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"patchbay/scripts/pytools"
	"patchbay/scripts/samstack"
	"patchbay/scripts/smokecheck"
	"patchbay/shared/authorization"
)

// samTokens is the server that asks for tokens: SAM invokes the authorizer's real function for every request, and it
// verifies real tokens, whose keys it fetches from the authorization server on this machine.
func samTokens(t *testing.T, stack *samstack.Stack, host string) {
	all := stack.SignIn.Machine.Scopes
	if len(all) < 2 {
		t.Fatalf("the examples ask for the scopes %v", all)
	}
	t.Run("without a token", func(t *testing.T) {
		for name, authorization := range map[string]string{
			"none": "", "no token": "Bearer x.y.z", "another scheme": "Basic eDp5",
		} {
			// SAM calls whatever an authorizer throws a fault of the function.
			if got := samAsk(t, stack.URL, authorization, "server/discover", ""); got.status != http.StatusBadGateway {
				t.Errorf("%s: status %d, %s; SAM has answered 502 so far", name, got.status, got.body)
			}
		}
	})
	t.Run("metadata", func(t *testing.T) { samMetadata(t, stack) })
	t.Run("scopes", func(t *testing.T) {
		lesser, all := samToken(t, stack, "emails:send"), samToken(t, stack, all...)
		for _, test := range []struct {
			name, token, tool string
			status            int
			says              string
		}{
			{"no tool", lesser, "", http.StatusOK, "supportedVersions"},
			{"a tool for everybody", lesser, "get_weather", http.StatusOK, "structuredContent"},
			{"a scope that is missing", lesser, "contacts_search", http.StatusForbidden, ""},
			{"the scope", all, "contacts_search", http.StatusOK, "structuredContent"},
			{"a sign-in, which no machine has", all, "emails.send_external", http.StatusForbidden, ""},
		} {
			method := "tools/call"
			if test.tool == "" {
				method = "server/discover"
			}
			got := samAsk(t, stack.URL, "Bearer "+test.token, method, test.tool)
			if got.status != test.status || !strings.Contains(got.body, test.says) {
				t.Errorf("%s: status %d, %s; want %d", test.name, got.status, got.body, test.status)
			}
		}
	})
	t.Run("smoke", func(t *testing.T) {
		report := smoke(t, smokecheck.Options{URL: stack.URL, Token: samToken(t, stack, all...)})
		if report.Failed() > 0 || checked(t, report, "call").Status != smokecheck.OK {
			t.Errorf("%+v", report.Checks)
		}
	})
	t.Run("no authorizer", func(t *testing.T) { samWithoutAuthorizer(t, stack, host) })
}

// samMetadata reads what clients without a token read, which SAM serves without asking the authorizer.
func samMetadata(t *testing.T, stack *samstack.Stack) {
	base := strings.TrimSuffix(stack.URL, authorization.EndpointPath)
	for _, path := range []string{
		authorization.ResourceMetadataPath, authorization.ResourceMetadataPath + authorization.EndpointPath,
	} {
		response, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
		}
		err = json.NewDecoder(response.Body).Decode(&document)
		response.Body.Close()
		if err != nil || document.Resource != stack.URL || len(document.Servers) != 1 ||
			document.Servers[0] != stack.SignIn.Issuer {
			t.Errorf("%s: %+v, %v", path, document, err)
		}
	}
}

// samWithoutAuthorizer starts the API once more from a template in which the authorizer's function cannot be found. SAM
// warns and lets every request through then; the dispatcher must not.
func samWithoutAuthorizer(t *testing.T, stack *samstack.Stack, host string) {
	bin, err := pytools.SAM(t.Context(), root, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	log := &bytes.Buffer{}
	sam := samCommand(t, bin, host, "local", "start-api", "--template", templateWithoutAuthorizer(t, stack),
		"--env-vars", stack.EnvironmentFile(), "--host", "127.0.0.1", "--port", port, "--skip-pull-image",
		"--add-host", "host.docker.internal:host-gateway", "--warm-containers", "LAZY", "--region", "us-east-1")
	sam.Env = append(sam.Env, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	sam.Stdout, sam.Stderr = log, log
	if err := sam.Start(); err != nil {
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + port + samstack.Path
	defer func() {
		_ = sam.Process.Signal(syscall.SIGTERM) // by which SAM removes its containers
		_ = sam.Wait()
		if t.Failed() {
			t.Logf("SAM wrote:\n%s", log)
		}
	}()
	awaitPort(t.Context(), t, port)
	for _, authorization := range []string{"", "Bearer " + samToken(t, stack, stack.SignIn.Machine.Scopes...)} {
		got := samAsk(t, url, authorization, "server/discover", "")
		if got.status != http.StatusInternalServerError || !strings.Contains(got.body, "-32603") {
			t.Errorf("with %q: status %d, %s; want that nobody gets in", authorization, got.status, got.body)
		}
	}
}

// templateWithoutAuthorizer writes a copy of the template, beside it, since the paths in it are relative.
func templateWithoutAuthorizer(t *testing.T, stack *samstack.Stack) string {
	t.Helper()
	data, err := os.ReadFile(stack.TemplateFile())
	if err != nil {
		t.Fatal(err)
	}
	var template map[string]any
	if err := json.Unmarshal(data, &template); err != nil {
		t.Fatal(err)
	}
	resources, _ := template["Resources"].(map[string]any)
	removed := 0
	for id, resource := range resources {
		properties, _ := resource.(map[string]any)["Properties"].(map[string]any)
		if name, _ := properties["FunctionName"].(string); strings.HasSuffix(name, "-authorizer") {
			delete(resources, id)
			removed++
		}
	}
	if removed != 1 {
		t.Fatalf("the template has %d authorizers", removed)
	}
	changed, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(stack.TemplateFile()), "without-authorizer.json")
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file) })
	return file
}

func samToken(t *testing.T, stack *samstack.Stack, scopes ...string) string {
	t.Helper()
	token, err := stack.MachineToken(t.Context(), scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

type samAnswer struct {
	status int
	body   string
}

// samAsk sends a request of the modern protocol; tool is that of a call, and authorization the field's value, each
// empty for none.
func samAsk(t *testing.T, url, authorization, method, tool string) samAnswer {
	t.Helper()
	params := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	if tool != "" {
		params["name"], params["arguments"] = tool, map[string]any{"location": "Oslo"}
	}
	if tool == "contacts_search" {
		params["arguments"] = map[string]any{"query": "ad"}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": tool, "Authorization": authorization,
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return samAnswer{response.StatusCode, string(answer)}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// awaitPort returns when something listens.
func awaitPort(ctx context.Context, t *testing.T, port string) {
	t.Helper()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
