package deployment

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"patchbay/infra/cdk/assembly"
	"patchbay/scripts/localgateway"
)

// listed asks a deployment's dispatcher for its tools, through a gateway as API Gateway is one.
func (w *world) listed(t *testing.T, stack *assembly.Stack) []string {
	t.Helper()
	name := stack.Name + "-dispatcher"
	w.host(t, stack, name, "dispatcher", map[string]string{
		// The secret's ARN ends in characters that only Secrets Manager knows; its name will do.
		"PATCHBAY_SEAL_KEYS_SECRET": stack.Name + "/seal-keys",
	})
	gateway := httptest.NewServer(localgateway.New(localgateway.Options{Invoker: w.service, FunctionARN: name}))
	t.Cleanup(gateway.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway.URL+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":
		"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
	} {
		request.Header.Set(header, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s, %v", response.StatusCode, body, fmt.Sprint(err))
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}
