// Package endpoint is the MCP endpoint: Streamable HTTP of revision 2026-07-28 and, statelessly, of the revisions back
// to 2024-11-05, as one http.Handler.
//
// It reads one message, checks what the protocol says of headers and metadata, and answers. What a tool call is goes
// through package toolcall. Source: basic/transports/streamable-http.
package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
)

// Catalogue lists tools.
type Catalogue interface {
	// Page returns definitions from the cursor on. The error is registry.ErrBadCursor for one that it never gave.
	Page(ctx context.Context, cursor string, limits registry.PageLimits, visible func(*registry.Entry) bool) (
		registry.Page, error)
	// Entries returns all tools that are published and not disabled. They are shared, and must not be changed.
	Entries(ctx context.Context) ([]*registry.Entry, error)
}

// Caller runs tool calls.
type Caller interface {
	Call(ctx context.Context, request *toolcall.Request) (json.RawMessage, error)
}

// Facts are what the front door knows of a request beside HTTP.
type Facts struct {
	// RequestID identifies the request in every log, and TraceID the trace that it belongs to; empty where there is none.
	RequestID, TraceID string
	// Received is when the front door got the request, by its own clock; zero when it does not say.
	Received  time.Time
	Principal principal.Principal
	// SourceIP is the address that the request came from; it tells anonymous callers apart where they are counted.
	SourceIP string
}

// Config is how a server is set up. ServerInfo, Log, Catalogue, Caller and Facts are required.
type Config struct {
	// ServerInfo is the Implementation object that says what the server is, in every result; ServerCard is the one that
	// says it in full, with pictures, in server/discover and initialize, and nil when that is the same.
	ServerInfo json.RawMessage
	ServerCard json.RawMessage
	// Instructions tell a model how to use the server's tools together; empty for none.
	Instructions string
	// Origins are the values of Origin that may call, exact; with LoopbackOrigins any origin on the loopback interface
	// may too. A request without Origin is not from a browser, and passes.
	Origins         []string
	LoopbackOrigins bool
	// CacheTTL is how long clients may keep a list, and CacheScope who may share it: mcp.CachePublic or CachePrivate.
	CacheTTL   time.Duration
	CacheScope string
	Page       registry.PageLimits
	// SignIn says that the gateway lets nobody through who has not signed in.
	SignIn bool
	// AnswerWithin is how long the gateway waits for a whole answer, counted from when it received the request; 0 when
	// only the function's own time-out counts.
	AnswerWithin time.Duration
	// KeepAlive is the longest silence on an open stream; 0 means 15 s.
	KeepAlive time.Duration

	Catalogue Catalogue
	// Caller writes a line of its own to the log for every call that it is given; Log gets one for every other request.
	Caller Caller
	// Facts tells who calls. With an error it still returns what else it knows.
	Facts func(context.Context) (Facts, error)
	Log   *slog.Logger
	// Metrics counts the requests that the Caller does not count; nil counts none.
	Metrics *metrics.Writer
}

// Handler serves the endpoint. It is safe for concurrent use.
type Handler struct {
	config  Config
	origins map[string]bool
}

// New returns the handler for config.
func New(config Config) *Handler {
	if config.KeepAlive <= 0 {
		config.KeepAlive = 15 * time.Second
	}
	if config.ServerCard == nil {
		config.ServerCard = config.ServerInfo
	}
	h := &Handler{config: config, origins: map[string]bool{}}
	for _, origin := range config.Origins {
		h.origins[origin] = true
	}
	return h
}

// ServeHTTP answers one request. A panic on the way is answered as an internal error.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := &exchange{Handler: h, http: r, answer: newAnswer(w, h.config.KeepAlive), started: time.Now()}
	defer ex.end(r.Context())
	ex.serve(r.Context())
}

// exchange is one request and its answer.
type exchange struct {
	*Handler
	http    *http.Request
	answer  *answer
	started time.Time
	facts   Facts
	message jsonrpc.Request
	params  mcp.Params
	modern  bool
	// version is the protocol revision of the request.
	version string

	// calling says that the Caller was given the request, and so counts it; called that it has answered, and so has logged
	// the request too.
	calling, called bool
	// reason is why the request was refused before it was a message, in one word.
	reason string
	// failure is the error that the request was answered with, cause what the log says of it and the client never sees.
	failure *jsonrpc.Error
	cause   error
	// stack is where a panic came from.
	stack []byte
}

func (ex *exchange) serve(ctx context.Context) {
	facts, nobody := ex.config.Facts(ctx)
	ex.facts = facts
	if !ex.checkHTTP() {
		return
	}
	body, ok := ex.readBody()
	if !ok {
		return
	}
	err := ex.read(body)
	if nobody != nil {
		// Only now, since the answer carries the message's id.
		err = fmt.Errorf("reading the caller of a request: %w", nobody)
	}
	if err != nil {
		ex.fail(err)
		return
	}
	if ex.message.IsNotification() {
		// Nothing that a client can notify us of changes anything here; accepting it is all there is to do.
		ex.answer.status(http.StatusAccepted)
		return
	}
	result, err := ex.route(ctx)
	if err != nil {
		ex.fail(err)
		return
	}
	ex.answer.result(ex.message.ID, result)
}

// read decodes the message and its parameters, tells its era, and checks what the era demands.
func (ex *exchange) read(body []byte) error {
	message, err := jsonrpc.Decode(body)
	ex.message = message
	if err != nil {
		// Without parameters the headers alone tell the era, by which the answer has its status.
		ex.modern = ex.isModern()
		return err
	}
	params, err := mcp.ParseParams(message.Params)
	ex.params = params
	ex.modern = ex.isModern()
	if err != nil {
		return err
	}
	if ex.modern {
		return ex.checkModern()
	}
	return ex.checkLegacy()
}

// fail answers with an error. In earlier revisions clients take other statuses than 200 for a broken transport, so an
// error that answers a request whose id and method could be read has it there. Once a stream is open the error is its
// last event.
func (ex *exchange) fail(err error) {
	status := mcp.Status(err)
	if !ex.modern && !ex.message.ID.IsZero() && ex.message.Method != "" {
		status = http.StatusOK
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		ex.cause = err
		e = jsonrpc.Errorf(jsonrpc.CodeInternalError, "Internal error (request id %s)", ex.facts.RequestID)
	}
	ex.failure = e
	ex.answer.fail(status, ex.message.ID, e)
}

// end leaves no request without an answer and a line in the log, whatever happened, and nothing running behind it.
func (ex *exchange) end(ctx context.Context) {
	if cause := recover(); cause != nil {
		ex.stack = debug.Stack()
		ex.fail(fmt.Errorf("panic: %v", cause))
	}
	ex.answer.close()
	ex.record(ctx)
	ex.count()
}

// route runs the method of a request that passed all checks.
func (ex *exchange) route(ctx context.Context) (json.RawMessage, error) {
	switch ex.message.Method {
	case mcp.MethodToolsCall:
		return ex.callTool(ctx)
	case mcp.MethodToolsList:
		return ex.listTools(ctx)
	}
	if ex.modern {
		switch ex.message.Method {
		case mcp.MethodDiscover:
			return ex.discover()
		case mcp.MethodSubscriptionsListen:
			return ex.listen()
		}
	} else {
		switch ex.message.Method {
		case mcp.MethodInitialize:
			return ex.initialize()
		case mcp.MethodPing:
			return json.RawMessage("{}"), nil
		}
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", shorten(ex.message.Method))
}
