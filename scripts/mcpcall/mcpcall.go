// Package mcpcall calls the tools of an MCP server as a client does: with the client of the official Go SDK, in the
// newest revision that both speak. Beside what the SDK returns it keeps what it drops: the result byte for byte as the
// server sent it, the HTTP status and the header fields of a request that was refused.
package mcpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "patchbay/shared/mcp"
	"patchbay/shared/version"
)

// Options say which server is called, and by whom.
type Options struct {
	// URL is the MCP endpoint.
	URL string
	// Token is the access token of every request; empty sends none.
	Token string
}

// Server is what a server says of itself.
type Server struct {
	Name, Version, Instructions string
	// Revision is the revision of MCP that is spoken with it.
	Revision string
}

// Call is one call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object; nil is one without members.
	Arguments json.RawMessage
	// Key is the idempotency key; empty sends none.
	Key string
	// Ask answers what the server wants to know of a person, one question at a time. Nil says to the server that nobody
	// can be asked.
	Ask func(context.Context, Question) (Reply, error)
	// Progress gets the reports of progress as they come; nil asks for none.
	Progress func(Progress)
}

// Question is what a server wants to know of a person before a call goes on.
type Question struct {
	Message string
	// Schema describes the form to fill in, a JSON Schema of an object without nesting; nil with URL.
	Schema json.RawMessage
	// URL is a page on which the person answers instead.
	URL string
}

// What a person may do with a question. Source: client/elicitation#response-actions.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Reply is a person's answer. Content is what was filled in, with Accept alone.
type Reply struct {
	Action  string
	Content map[string]any
}

// confirmed is the only member of the form by which Patchbay asks whether a call may run.
const confirmed = "confirm"

// IsConfirmation reports whether the server only asks whether the call may run: the form is one box to tick.
func (q Question) IsConfirmation() bool {
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(q.Schema, &form) != nil {
		return false
	}
	return len(form.Properties) == 1 && form.Properties[confirmed].Type == "boolean"
}

// Confirm is the reply that lets a call run.
func Confirm() Reply { return Reply{Action: Accept, Content: map[string]any{confirmed: true}} }

// Progress is one report of a tool while it runs.
type Progress struct {
	Progress float64 `json:"progress"`
	// Total is 0 where it is not known.
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// Client is a connection to a server. It is for one goroutine at a time.
type Client struct {
	options Options
	http    *http.Client
	// sessions are those without and with a person who can be asked: a client says so once for all of its requests.
	alone, attended *mcp.ClientSession
}

// Connect opens a connection. The error is a *Refusal where the server refuses the caller.
func Connect(ctx context.Context, options Options) (*Client, error) {
	endpoint, err := url.Parse(options.URL)
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "http" && endpoint.Scheme != "https") {
		return nil, fmt.Errorf("%q is no endpoint; allowed: an address such as https://mcp.example.com/mcp", options.URL)
	}
	c := &Client{options: options, http: newHTTPClient(options.Token)}
	if c.alone, err = c.open(ctx, false); err != nil {
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *Client) Close() error {
	var faults []error
	for _, session := range []*mcp.ClientSession{c.alone, c.attended} {
		if session != nil {
			faults = append(faults, session.Close())
		}
	}
	c.alone, c.attended = nil, nil
	return errors.Join(faults...)
}

// Server returns what the server said of itself when the connection was opened.
func (c *Client) Server() Server {
	if c.alone == nil {
		return Server{}
	}
	told := c.alone.InitializeResult()
	server := Server{Instructions: told.Instructions, Revision: told.ProtocolVersion}
	if told.ServerInfo != nil {
		server.Name, server.Version = told.ServerInfo.Name, told.ServerInfo.Version
	}
	return server
}

// Tools returns all tools that the server lists for this caller, in its order.
func (c *Client) Tools(ctx context.Context) ([]*mcp.Tool, error) {
	session, err := c.session(ctx, false)
	if err != nil {
		return nil, err
	}
	return c.list(ctx, session)
}

// maxPages bounds a list whose cursors lead in a circle.
const maxPages = 1000

func (c *Client) list(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	var tools []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for range maxPages {
		ctx, seen := watch(ctx, nil)
		page, err := session.ListTools(ctx, params)
		if err != nil {
			c.drop(session)
			return nil, fmt.Errorf("listing tools: %w", seen.refusal(err))
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			return tools, nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("listing tools: the list has more than %d pages", maxPages)
}

// Call calls a tool and returns what came back, tool errors too. The error is a *Refusal where the request was refused
// and there is no result.
func (c *Client) Call(ctx context.Context, call Call) (Answer, error) {
	session, err := c.session(ctx, call.Ask != nil)
	if err != nil {
		return Answer{}, err
	}
	params := &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments, Meta: mcp.Meta{}}
	if call.Arguments == nil {
		params.Arguments = json.RawMessage(`{}`)
	}
	if call.Key != "" {
		params.Meta[ours.MetaIdempotencyKey] = call.Key
	}
	if call.Progress != nil {
		params.SetProgressToken("patchbay")
	}
	ctx, seen := watch(ctx, call.Progress)
	began := time.Now()
	_, err = session.CallTool(withAsk(ctx, call.Ask), params)
	took := time.Since(began)
	if err != nil {
		c.drop(session)
		return Answer{}, seen.refusal(err)
	}
	answer, err := seen.answer()
	if err != nil {
		return Answer{}, fmt.Errorf("reading the result of %s: %w", call.Tool, err)
	}
	answer.Duration = took
	return answer, nil
}

// session returns the open session, or opens it again: the SDK gives one up after some refusals.
func (c *Client) session(ctx context.Context, attended bool) (*mcp.ClientSession, error) {
	session := &c.alone
	if attended {
		session = &c.attended
	}
	if *session != nil {
		return *session, nil
	}
	opened, err := c.open(ctx, attended)
	if err != nil {
		return nil, err
	}
	*session = opened
	return opened, nil
}

func (c *Client) drop(session *mcp.ClientSession) {
	if session == c.alone {
		c.alone = nil
	} else {
		c.attended = nil
	}
	_ = session.Close()
}

func (c *Client) open(ctx context.Context, attended bool) (*mcp.ClientSession, error) {
	// Without this the SDK says that it has roots.
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if attended {
		options.ElicitationHandler = elicit
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "patchbay", Version: version.Version}, options)
	ctx, seen := watch(ctx, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.options.URL, HTTPClient: c.http, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.options.URL, seen.refusal(err))
	}
	// The SDK sends what a list says to send in header fields.
	if _, err := c.list(ctx, session); err != nil {
		return nil, err
	}
	return session, nil
}

type askKey struct{}

// asker is how the questions of one call are answered.
type asker struct {
	mu  sync.Mutex
	ask func(context.Context, Question) (Reply, error)
}

func withAsk(ctx context.Context, ask func(context.Context, Question) (Reply, error)) context.Context {
	return context.WithValue(ctx, askKey{}, &asker{ask: ask})
}

// elicit hands a question to whoever made the call that it belongs to.
func elicit(ctx context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	asker, ok := ctx.Value(askKey{}).(*asker)
	if !ok || asker.ask == nil {
		return nil, errors.New("the server asks something outside of any call")
	}
	question := Question{Message: request.Params.Message, URL: request.Params.URL}
	if request.Params.RequestedSchema != nil {
		schema, err := json.Marshal(request.Params.RequestedSchema)
		if err != nil {
			return nil, fmt.Errorf("encoding the form that the server asks for: %w", err)
		}
		question.Schema = schema
	}
	// The SDK asks all questions of a round at once; a person takes one after another.
	asker.mu.Lock()
	defer asker.mu.Unlock()
	reply, err := asker.ask(ctx, question)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: reply.Action, Content: reply.Content}, nil
}
