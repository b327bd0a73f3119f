// Package toolcall takes one tools/call from the request to the result.
//
// The steps are those of the design, in its order: whatever can be refused is refused before the tool's Lambda runs.
// A refusal that the client must fix is a JSON-RPC error; one that the model can act on is a result with isError.
package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"patchbay/dispatcher/function"
	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
)

// Catalogue finds tools. Lookup returns an error that is registry.ErrUnknownTool for a name that it does not have.
type Catalogue interface {
	Lookup(ctx context.Context, name string) (*registry.Entry, error)
	// Refresh reads the catalogue's head again, whatever the age of the copy at hand.
	Refresh(ctx context.Context) error
}

// Functions runs tools. The errors are those of package function.
type Functions interface {
	Invoke(ctx context.Context, name string, payload []byte) ([]byte, error)
	Stream(ctx context.Context, name string, payload []byte, progress func(invoke.Progress)) ([]byte, error)
}

// Request is one tools/call, read and checked as a message.
type Request struct {
	// RequestID identifies the call in every log.
	RequestID string
	Params    mcp.Params
	// ProtocolVersion is the revision that the client speaks; Modern tells the era of it.
	ProtocolVersion string
	Modern          bool
	// Header is the HTTP header, of which the Mcp-Param-* fields are compared with the arguments in the modern era.
	Header    http.Header
	Principal principal.Principal
	// Progress takes the tool's reports as they come; nil when the client asked for none or can read no stream.
	Progress func(invoke.Progress)
	// Deadline is when an answer must be on its way.
	Deadline time.Time
}

// Config is what tool calls need. All of it is required.
type Config struct {
	Catalogue Catalogue
	Functions Functions
	Sealer    Sealer
	// ServerInfo is the Implementation object that every modern result carries.
	ServerInfo json.RawMessage
	Log        *slog.Logger
}

// Caller runs tool calls. It is safe for concurrent use.
type Caller struct {
	Config
	now func() time.Time
}

// New returns a Caller.
func New(config Config) *Caller { return &Caller{Config: config, now: time.Now} }

// Call answers the request with the JSON of a result, or with an error for the client: a *jsonrpc.Error, perhaps inside
// an *mcp.Answered. Every call writes one line to the log.
func (c *Caller) Call(ctx context.Context, request *Request) (json.RawMessage, error) {
	call := &call{Caller: c, Request: request, started: c.now(), outcome: outcomeOK}
	result, err := call.run(ctx)
	call.record(ctx, err)
	return result, err
}

// call is one call on its way through the steps.
type call struct {
	*Caller
	*Request
	started time.Time
	entry   *registry.Entry
	// arguments are the call's arguments with defaults applied.
	arguments json.RawMessage
	// state and responses are the tool's own state of the round before and the client's answers to what it asked.
	state     string
	responses json.RawMessage

	outcome outcome
	// cause is what the log says of a failure and the client never sees.
	cause error
}

func (c *call) run(ctx context.Context) (json.RawMessage, error) {
	if err := c.find(ctx); err != nil {
		return nil, err
	}
	if err := c.compareHeaders(); err != nil {
		return nil, c.refuse(outcomeHeaders, err)
	}
	if refusal, err := c.authorize(); refusal != nil || err != nil {
		return refusal, err
	}
	if refusal, err := c.checkArguments(); refusal != nil || err != nil {
		return refusal, err
	}
	if err := c.openRound(ctx); err != nil {
		return nil, err
	}
	// The ledger's step and the gates of the contract belong here, between the last check and the invocation.
	answer, err := c.invoke(ctx)
	if err != nil {
		return c.failed(err), nil
	}
	return c.finish(ctx, answer)
}

// find looks the tool up. Forbidden tools do not exist for clients, nor do tools whose visibility is permitted for
// callers without their scopes.
func (c *call) find(ctx context.Context) error {
	entry, err := c.Catalogue.Lookup(ctx, c.Params.Name)
	switch {
	case errors.Is(err, registry.ErrUnknownTool):
		return c.refuse(outcomeUnknownTool, mcp.UnknownTool(c.Params.Name))
	case err != nil:
		c.cause = err
		return c.refuse(outcomeUnavailable, jsonrpc.Errorf(jsonrpc.CodeInternalError,
			"The tool catalogue cannot be read at the moment; nothing has run (request id %s)", c.RequestID))
	case !Visible(entry, c.Principal):
		return c.refuse(outcomeUnknownTool, mcp.UnknownTool(c.Params.Name))
	}
	c.entry = entry
	return nil
}

// authorize checks the caller's scopes against the contract's permissions. The caller may see the tool, so the answer
// may say what is missing.
func (c *call) authorize() (json.RawMessage, error) {
	missing := c.Principal.Missing(c.entry.Tool.Contract.Permissions)
	if missing == nil {
		return nil, nil
	}
	return c.toolError(outcomeForbidden, "Calling %s needs permission that this caller does not have. Missing OAuth "+
		"scopes: %s. Sign in with them, or ask an operator to grant them.", c.Params.Name, join(missing)), nil
}

// invoke runs the function version that the catalogue names. A version that is gone means that the catalogue at hand is
// old: it is read again, and the call resolved once more.
func (c *call) invoke(ctx context.Context) ([]byte, error) {
	answer, err := c.invokeOnce(ctx)
	if !errors.Is(err, function.ErrGone) {
		return answer, err
	}
	c.Log.WarnContext(ctx, "function version is gone; reading the catalogue again",
		"requestId", c.RequestID, "tool", c.Params.Name, "function", c.entry.Function)
	if refreshErr := c.Catalogue.Refresh(ctx); refreshErr != nil {
		return nil, fmt.Errorf("%w; and %w", err, refreshErr)
	}
	entry, lookupErr := c.Catalogue.Lookup(ctx, c.Params.Name)
	if lookupErr != nil || entry.Function == c.entry.Function {
		return nil, err
	}
	// The new version may have another schema, so the arguments are checked against it before it runs.
	c.entry = entry
	if refusal, err := c.checkArguments(); refusal != nil || err != nil {
		return nil, &refused{result: refusal, err: err}
	}
	return c.invokeOnce(ctx)
}

func (c *call) invokeOnce(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithDeadline(ctx, c.Deadline)
	defer cancel()
	payload, err := c.payload()
	if err != nil {
		return nil, err
	}
	if c.streams() {
		return c.Functions.Stream(ctx, c.entry.Function, payload, c.Progress)
	}
	return c.Functions.Invoke(ctx, c.entry.Function, payload)
}

// streams reports whether progress can reach the client: it asked for it, and the tool can report it.
func (c *call) streams() bool { return c.Progress != nil && c.entry.Tool.Contract.Execution.Streaming }

// Visible reports whether the tool exists for the caller at all.
func Visible(entry *registry.Entry, caller principal.Principal) bool {
	rules := &entry.Tool.Contract
	if rules.Risk == contract.RiskForbidden {
		return false
	}
	return rules.Visibility != contract.VisibilityPermitted || caller.Missing(rules.Permissions) == nil
}
