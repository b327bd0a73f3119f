package smokecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the checks say that they are.
const (
	clientName    = "patchbay-smoke"
	clientVersion = "1"
)

// maxPages bounds a list whose cursors lead in a circle.
const maxPages = 1000

// connect opens a session of the SDK's client in a revision.
func (r *run) connect(ctx context.Context, revision string, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: clientName, Version: clientVersion}, options)
	transport := &mcp.StreamableClientTransport{
		Endpoint: r.URL, HTTPClient: r.client, MaxRetries: -1, DisableStandaloneSSE: true,
	}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, fmt.Errorf("no connection: %w", err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		_ = session.Close()
		return nil, fmt.Errorf("the server speaks %s with a client that asks for %s", got, revision)
	}
	return session, nil
}

// discover connects, which the SDK does by server/discover; with a server that does not know that it falls back to an
// earlier revision, which connect refuses.
func (r *run) discover(ctx context.Context) (string, error) {
	// The plain request first: its answer says more than the SDK's error.
	plain, err := r.send(ctx, r.modern("server/discover", nil))
	if err != nil {
		return "", err
	}
	if plain.status != 200 || plain.rpc.Result == nil {
		return "", fmt.Errorf("%s", plain)
	}
	session, err := r.connect(ctx, Revision, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	name := "a server without a name"
	if info := session.InitializeResult().ServerInfo; info != nil {
		name = info.Name + " " + info.Version
	}
	return name, nil
}

// listed is a tool as the server lists it.
type listed struct {
	*mcp.Tool
	schema json.RawMessage
}

func (t listed) readOnly() bool { return t.Annotations != nil && t.Annotations.ReadOnlyHint }

func (r *run) list(ctx context.Context) (string, error) {
	session, err := r.connect(ctx, Revision, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	seen := map[string]bool{}
	var hints mcp.Cacheable
	params := &mcp.ListToolsParams{}
	for page := 1; ; page++ {
		result, err := session.ListTools(ctx, params)
		if err != nil {
			return "", fmt.Errorf("page %d: %w", page, err)
		}
		if err := r.keep(result.Tools, seen); err != nil {
			return "", fmt.Errorf("page %d: %w", page, err)
		}
		hints = result.Cacheable
		if result.NextCursor == "" {
			return r.listSeen(ctx, page, hints)
		}
		if page == maxPages {
			return "", fmt.Errorf("more than %d pages", maxPages)
		}
		params.Cursor = result.NextCursor
	}
}

// keep remembers a page's tools, each of which may be there once.
func (r *run) keep(tools []*mcp.Tool, seen map[string]bool) error {
	for _, tool := range tools {
		if seen[tool.Name] {
			return fmt.Errorf("%s is listed twice", tool.Name)
		}
		seen[tool.Name] = true
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return fmt.Errorf("the schema of %s: %w", tool.Name, err)
		}
		r.tools = append(r.tools, listed{tool, schema})
	}
	return nil
}

// listSeen looks at the hints as they were sent: the SDK fills in what is missing.
func (r *run) listSeen(ctx context.Context, pages int, hints mcp.Cacheable) (string, error) {
	plain, err := r.send(ctx, r.modern("tools/list", nil))
	if err != nil {
		return "", err
	}
	var sent struct {
		TTLMs      *int64  `json:"ttlMs"`
		CacheScope *string `json:"cacheScope"`
	}
	if err := json.Unmarshal(plain.rpc.Result, &sent); err != nil || sent.TTLMs == nil || sent.CacheScope == nil {
		return "", fmt.Errorf("a list without ttlMs or cacheScope: %s", plain)
	}
	if *sent.TTLMs < 0 || (*sent.CacheScope != "public" && *sent.CacheScope != "private") {
		return "", fmt.Errorf("ttlMs %d and cacheScope %q", *sent.TTLMs, *sent.CacheScope)
	}
	return fmt.Sprintf("%d tools, pages: %d, ttlMs %d, cacheScope %s", len(r.tools), pages, hints.TTLMs, hints.CacheScope),
		nil
}

func (r *run) call(ctx context.Context) (string, error) {
	tool, arguments, err := r.choose(r.Tool, r.Arguments)
	if err != nil {
		return "", err
	}
	session, err := r.connect(ctx, Revision, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	// The SDK sends what a list says to send in header fields.
	if _, err := session.ListTools(ctx, nil); err != nil {
		return "", fmt.Errorf("listing tools before the call: %w", err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
	if err != nil {
		return "", fmt.Errorf("%s with %s: %w", tool.Name, arguments, err)
	}
	text := resultText(result)
	if result.IsError {
		return "", fmt.Errorf("%s with %s answers with an error: %s; other arguments: --tool and --arguments",
			tool.Name, arguments, text)
	}
	if len(result.Content) == 0 && result.StructuredContent == nil {
		return "", fmt.Errorf("%s with %s answers with nothing", tool.Name, arguments)
	}
	return fmt.Sprintf("%s %s: %s", tool.Name, arguments, text), nil
}

// resultText is the first text of a result, in short.
func resultText(result *mcp.CallToolResult) string {
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			return shorten(text.Text)
		}
	}
	return fmt.Sprintf("%d blocks without text", len(result.Content))
}

// earlier goes through the handshake of an earlier revision.
func (r *run) earlier(ctx context.Context) (string, error) {
	session, err := r.connect(ctx, EarlierRevision, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	result, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("tools/list: %w", err)
	}
	if len(r.tools) > 0 && len(result.Tools) == 0 {
		return "", errors.New("no tools")
	}
	return fmt.Sprintf("%d tools on the first page", len(result.Tools)), nil
}

// streaming calls a tool with a progress token, to see its progress before its result. Where no progress comes, nothing
// is known of streaming from that; then an answer is asked for that can only be a stream.
func (r *run) streaming(ctx context.Context) (string, error) {
	if r.gatewayIsSAM {
		return "", &skip{"SAM's local API cannot stream; a deployment can"}
	}
	name, arguments := r.StreamingTool, r.StreamingArguments
	if name == "" {
		name, arguments = r.Tool, r.Arguments
	}
	tool, arguments, err := r.choose(name, arguments)
	reason := "no tool can be called"
	if err == nil {
		reports, err := r.progress(ctx, tool, arguments)
		if err != nil {
			return "", err
		}
		if reports > 0 {
			return fmt.Sprintf("%s: progress, %d times, and then its result", tool.Name, reports), nil
		}
		reason = tool.Name + " reports no progress"
	}
	if r.StreamingTool != "" {
		return "", fmt.Errorf("%s, whose progress was asked for", reason)
	}
	seen, err := r.streamedDiscover(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; %s, so a tool's progress was not looked at: name one with --streaming-tool", seen, reason), nil
}

// progress returns how often a tool reported progress before its result.
func (r *run) progress(ctx context.Context, tool listed, arguments json.RawMessage) (int, error) {
	var mu sync.Mutex
	reports := 0
	session, err := r.connect(ctx, Revision, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			reports++
		},
	})
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return 0, fmt.Errorf("listing tools before the call: %w", err)
	}
	params := &mcp.CallToolParams{Name: tool.Name, Arguments: arguments}
	params.SetProgressToken("smoke")
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return 0, fmt.Errorf("%s with a progress token: %w", tool.Name, err)
	}
	if result.IsError {
		return 0, fmt.Errorf("%s with a progress token answers with an error: %s", tool.Name, resultText(result))
	}
	// The SDK hands notifications over in the background; closing the session waits for that.
	if err := session.Close(); err != nil {
		return 0, fmt.Errorf("closing the session: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	return reports, nil
}

// streamedDiscover asks for server/discover as a client that reads streams alone.
func (r *run) streamedDiscover(ctx context.Context) (string, error) {
	asked := r.modern("server/discover", nil)
	asked.header.Set("Accept", "text/event-stream")
	got, err := r.send(ctx, asked)
	if err != nil {
		return "", err
	}
	events, ok := got.events()
	if !ok || len(events) == 0 || got.rpc.Result == nil {
		return "", fmt.Errorf("Content-Type %q, %s", got.header.Get("Content-Type"), got)
	}
	return "server/discover came as a stream of events", nil
}
