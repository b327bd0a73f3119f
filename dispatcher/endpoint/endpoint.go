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
	"log/slog"
	"net/http"
	"time"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
)

// MaxBody is the largest request body that is read, in bytes: what API Gateway lets through.
const MaxBody = 10 << 20

// Catalogue lists tools.
type Catalogue interface {
	// Page returns definitions from the cursor on. The error is registry.ErrBadCursor for one that it never gave.
	Page(ctx context.Context, cursor string, limits registry.PageLimits, visible func(*registry.Entry) bool) (
		registry.Page, error)
}

// Caller runs tool calls.
type Caller interface {
	Call(ctx context.Context, request *toolcall.Request) (json.RawMessage, error)
}

// Facts are what the front door knows of a request beside HTTP.
type Facts struct {
	// RequestID identifies the request in every log.
	RequestID string
	Principal principal.Principal
}

// Config is how a server is set up. Log, Catalogue, Caller and Facts are required.
type Config struct {
	Server Server
	// Origins are the values of Origin that may call, exact; with LoopbackOrigins any origin on the loopback interface
	// may too. A request without Origin is not from a browser, and passes.
	Origins         []string
	LoopbackOrigins bool
	// CacheTTL is how long clients may keep a list, and CacheScope who may share it: mcp.CachePublic or CachePrivate.
	CacheTTL   time.Duration
	CacheScope string
	Page       registry.PageLimits
	// AnswerWithin is how long the gateway waits for a whole answer; 0 when only the function's own time-out counts.
	AnswerWithin time.Duration
	// KeepAlive is the longest silence on an open stream; 0 means 15 s.
	KeepAlive time.Duration

	Catalogue Catalogue
	Caller    Caller
	Facts     func(context.Context) (Facts, error)
	Log       *slog.Logger
}

// Server is what the server says about itself.
type Server struct {
	mcp.Implementation
	Instructions string `json:"instructions,omitempty"`
}

// Handler serves the endpoint. It is safe for concurrent use.
type Handler struct {
	Config
	serverInfo json.RawMessage
	origins    map[string]bool
}

// New returns the handler for config.
func New(config Config) (*Handler, error) {
	info, err := json.Marshal(config.Server.Implementation)
	if err != nil {
		return nil, err
	}
	if config.KeepAlive <= 0 {
		config.KeepAlive = 15 * time.Second
	}
	h := &Handler{Config: config, serverInfo: info, origins: map[string]bool{}}
	for _, origin := range config.Origins {
		h.origins[origin] = true
	}
	return h, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := &exchange{Handler: h, http: r, answer: newAnswer(w, h.KeepAlive), started: time.Now()}
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
}

func (ex *exchange) serve(ctx context.Context) {
	if !ex.checkHTTP() {
		return
	}
	facts, err := ex.Facts(ctx)
	if err != nil {
		ex.Log.ErrorContext(ctx, "reading the caller of a request", "error", err)
		ex.fail(jsonrpc.Errorf(jsonrpc.CodeInternalError, "Internal error"))
		return
	}
	ex.facts = facts
	body, ok := ex.readBody()
	if !ok {
		return
	}
	if err := ex.read(body); err != nil {
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

// fail answers with an error. In earlier revisions clients take other statuses than 200 for a broken transport, so there
// an error that answers a well-formed request has it. Once a stream is open the error is its last event.
func (ex *exchange) fail(err error) {
	status := mcp.Status(err)
	if !ex.modern && !ex.message.ID.IsZero() && ex.message.Method != "" {
		status = http.StatusOK
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		ex.Log.Error("internal error", "requestId", ex.facts.RequestID, "error", err)
		e = jsonrpc.Errorf(jsonrpc.CodeInternalError, "Internal error (request id %s)", ex.facts.RequestID)
	}
	ex.answer.fail(status, ex.message.ID, e)
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
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", ex.message.Method)
}
