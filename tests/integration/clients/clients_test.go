package clients

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK's own server shows that a report holds what a server says, before our server is what is tested.
func TestGoClientsAgainstTheirOwnServer(t *testing.T) {
	t.Parallel()
	url := referenceServer(t)
	for _, client := range goClients() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			report := client.Call(t, url, Call{Tool: "count", Progress: true}, Call{Tool: "count"}, Call{Tool: "none"})
			if !slices.Equal(report.Tools, []string{"count"}) || report.Server != "reference" {
				t.Errorf("tools %v of server %q", report.Tools, report.Server)
			}
			if modern := report.ProtocolVersion == Revision; modern != client.Modern {
				t.Errorf("revision %s", report.ProtocolVersion)
			}
			want := []Progress{{1, 2, "half"}, {2, 2, "done"}}
			if diff := cmp.Diff(want, report.Calls[0].Progress); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
			if len(report.Calls[1].Progress) > 0 {
				t.Errorf("progress %v, but none was asked for", report.Calls[1].Progress)
			}
			result, err := report.Calls[0].Decode()
			if err != nil || len(result.Content) != 1 || result.Content[0].Text != "counted" {
				t.Errorf("result %+v, error %v", result, err)
			}
			if _, err := report.Calls[2].Decode(); err == nil {
				t.Error("no error for an unknown tool")
			}
		})
	}
}

func referenceServer(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "reference", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts to two."}, count)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	return listener.URL
}

func count(ctx context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	token := request.Params.GetProgressToken()
	for i, message := range []string{"half", "done"} {
		if token == nil {
			break
		}
		note := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1), Total: 2, Message: message}
		if err := request.Session.NotifyProgress(ctx, note); err != nil {
			return nil, nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "counted"}}}, nil, nil
}

func TestMissingRuntimesAreNamed(t *testing.T) {
	t.Parallel()
	for _, client := range Available(t.TempDir()) {
		if inProcess := strings.HasPrefix(client.Name, "go"); inProcess != (client.Missing == "") {
			t.Errorf("%s: missing %q", client.Name, client.Missing)
		}
	}
}

func TestProgramsThatFailAreErrors(t *testing.T) {
	t.Parallel()
	_, err := process{}.run(t.Context(), "sh", "-c", "echo out; echo what went wrong >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "what went wrong") {
		t.Errorf("error %v", err)
	}
	_, err = reporting("sh", "-c", "ignored")(t.Context(), "echo not a report", Script{})
	if err == nil || !strings.Contains(err.Error(), "decoding what") {
		t.Errorf("error %v", err)
	}
}
