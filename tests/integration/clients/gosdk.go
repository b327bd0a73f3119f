package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func goClients() []Client {
	return []Client{
		{Name: "go", Modern: true, Progress: true, Run: goRun("")},
		{Name: "go " + EarlierRevision, Progress: true, Run: goRun(EarlierRevision)},
	}
}

// goRun returns a run of the Go SDK's client that asks for the version, or for its newest when empty.
func goRun(version string) func(ctx context.Context, url string, script Script) (Report, error) {
	return func(ctx context.Context, url string, script Script) (Report, error) {
		seen := &progressLog{}
		options := &mcp.ClientOptions{ProgressNotificationHandler: seen.add}
		if script.Consent {
			options.ElicitationHandler = goConsent
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "patchbay-tests", Version: "1.0.0"}, options)
		transport := &mcp.StreamableClientTransport{Endpoint: url}
		if script.SignIn != nil {
			handler, end, err := goAuthorization(*script.SignIn)
			if err != nil {
				return Report{}, err
			}
			defer end()
			transport.OAuthHandler = handler
		}
		session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			return Report{}, fmt.Errorf("connecting the Go client: %w", err)
		}
		defer session.Close()
		report := Report{ProtocolVersion: session.InitializeResult().ProtocolVersion}
		if info := session.InitializeResult().ServerInfo; info != nil {
			report.Server = info.Name
		}
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return report, fmt.Errorf("listing tools with the Go client: %w", err)
			}
			report.Tools = append(report.Tools, tool.Name)
		}
		for i, call := range script.Calls {
			call.pause(ctx)
			report.Calls = append(report.Calls, goCall(ctx, session, call, token(i)))
		}
		// The SDK hands notifications over in the background; closing the session waits for that.
		if err := session.Close(); err != nil {
			return report, fmt.Errorf("closing the Go client's session: %w", err)
		}
		for i := range report.Calls {
			report.Calls[i].Progress = seen.of(token(i))
		}
		return report, nil
	}
}

// goConsent is a person who lets a call run.
func goConsent(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
}

// token is the progress token of a call by its place in the script.
func token(call int) string { return fmt.Sprintf("call-%d", call) }

func goCall(ctx context.Context, session *mcp.ClientSession, call Call, token string) CallReport {
	report := CallReport{Tool: call.Tool}
	params := &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments}
	if call.Arguments == nil {
		params.Arguments = json.RawMessage(`{}`)
	}
	if call.Progress {
		params.SetProgressToken(token)
	}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		report.Error = err.Error()
		return report
	}
	if report.Result, err = json.Marshal(result); err != nil {
		report.Error = err.Error()
	}
	return report
}

// progressLog keeps progress notifications by their token.
type progressLog struct {
	mu    sync.Mutex
	notes map[string][]Progress
}

func (l *progressLog) add(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notes == nil {
		l.notes = map[string][]Progress{}
	}
	token := fmt.Sprint(request.Params.ProgressToken)
	l.notes[token] = append(l.notes[token], Progress{
		Progress: request.Params.Progress,
		Total:    request.Params.Total,
		Message:  request.Params.Message,
	})
}

func (l *progressLog) of(token string) []Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notes[token]
}
