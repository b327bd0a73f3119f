// Package toolcall takes one tools/call from the request to the result.
//
// The steps are those of the design, in its order: whatever can be refused is refused before the tool's Lambda runs.
// A refusal that the client must fix is a JSON-RPC error; one that the model can act on is a result with isError.
package toolcall

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"patchbay/dispatcher/function"
	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/access"
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
	// RequestID identifies the call in every log, and TraceID the trace that it belongs to; empty where there is none.
	RequestID, TraceID string
	Params             mcp.Params
	// ProtocolVersion is the revision that the client speaks; Modern tells the era of it.
	ProtocolVersion string
	Modern          bool
	// Header is the HTTP header, of which the Mcp-Param-* fields are compared with the arguments in the modern era.
	Header    http.Header
	Principal principal.Principal
	// SourceIP tells anonymous callers apart where they are counted.
	SourceIP string
	// Progress takes the tool's reports as they come; nil when the client asked for none or can read no stream.
	Progress func(invoke.Progress)
	// Deadline is when an answer must be on its way.
	Deadline time.Time
}

// Config is what tool calls need. All of it is required but for Metrics and Ask.
type Config struct {
	Catalogue Catalogue
	Functions Functions
	Sealer    Sealer
	Ledger    Ledger
	Limiter   Limiter
	// Limit bounds the calls of one principal over all tools; the zero value bounds nothing.
	Limit ratelimit.Limit
	// Ask says how clients ask an issuer for a contract's scopes; nil when they ask for them as they are.
	Ask func(issuer string, scopes []string) []string
	// ServerInfo is the Implementation object that every modern result carries.
	ServerInfo json.RawMessage
	Log        *slog.Logger
	// Metrics counts every call; nil counts none.
	Metrics *metrics.Writer
	// Audit gets one record for every call of a tool whose contract names an audit event, and one more before a call of
	// high or critical risk runs.
	Audit *slog.Logger
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
	ctx, cancel := context.WithDeadline(ctx, request.Deadline)
	defer cancel()
	var (
		answer   reply
		err      error
		finished bool
	)
	// Deferred, so that a call that panics leaves its records too.
	defer func() {
		if !finished {
			call.outcome = outcomePanic
		}
		call.record(ctx, err)
		call.auditOutcome(ctx)
		call.measure()
	}()
	answer, err = call.run(ctx)
	finished = true
	if err != nil {
		return nil, err
	}
	return call.dress(answer), nil
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
	// key is the idempotency key under which the call is recorded; empty when it is not. digest is that of the arguments.
	key    string
	digest [sha256.Size]byte
	// confirmed says that a person has agreed to the call, dryRun that it only asks what it would do, expired that the
	// state it came with is too old for anything but a recorded result.
	confirmed, dryRun, expired bool
	// replayed says that the answer is a recorded one, uncertain that the call is recorded and nobody knows whether it had
	// its effect, unsettled that its record could not be brought to its end.
	replayed, uncertain, unsettled bool
	// ledger is what became of the call's record, in one word for the log; empty where there is none, or where it is
	// another call's.
	ledger string

	outcome outcome
	// cause is what the log says of a failure and the client never sees.
	cause error
}

// reply is what a call is answered with: a result's members, before they are dressed for the client's era.
type reply []jsonrpc.Member

func (c *call) run(ctx context.Context) (reply, error) {
	if refusal, err := c.resolve(ctx); refusal != nil || err != nil {
		return refusal, err
	}
	if refusal, err := c.openRound(ctx); refusal != nil || err != nil {
		return refusal, err
	}
	if refusal, err := c.identify(ctx); refusal != nil || err != nil {
		return refusal, err
	}
	switch {
	case c.key != "":
		return c.once(ctx)
	case c.expired:
		return nil, c.refuse(outcomeState, unopenable())
	case c.dryRun:
		return c.tryOut(ctx)
	}
	if refusal, err := c.gates(ctx); refusal != nil || err != nil {
		return refusal, err
	}
	reply, _, err := c.attempt(ctx)
	return reply, err
}

// tryOut makes a dry run. It takes no key, needs no confirmation, and leaves a receipt where the contract asks for one.
func (c *call) tryOut(ctx context.Context) (reply, error) {
	reply, _, err := c.attempt(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.keepReceipt(ctx); err != nil {
		return nil, c.unrecordable(err)
	}
	return reply, nil
}

// resolve finds the tool and checks all that the catalogue says of who may call it, and how.
func (c *call) resolve(ctx context.Context) (reply, error) {
	if err := c.find(ctx); err != nil {
		return nil, err
	}
	if err := c.compareHeaders(); err != nil {
		return nil, c.refuse(outcomeHeaders, err)
	}
	if refusal := c.authorize(); refusal != nil {
		return refusal, nil
	}
	return c.checkArguments()
}

// trace is what an attempt left behind in the tool's world, as far as the dispatcher can know.
type trace int

const (
	// traceAnswered: the tool ran and said how it went.
	traceAnswered trace = iota
	// traceNone: the tool did not start, asks for input, or failed in a way that its contract declares to have no effect.
	traceNone
	// traceUnknown: the tool crashed or was stopped, so it may have had its effect or not.
	traceUnknown
	// traceOpen: the tool may be running still.
	traceOpen
)

// attempt runs the tool once and makes a reply of whatever comes of it. A function version that is gone means that the
// catalogue at hand is old: it is read again, and the call resolved once more, with every check.
func (c *call) attempt(ctx context.Context) (reply, trace, error) {
	if refusal, err := c.admit(ctx); refusal != nil || err != nil {
		return refusal, traceNone, err
	}
	c.auditAttempt(ctx)
	answer, err := c.invoke(ctx)
	if errors.Is(err, function.ErrGone) && c.refresh(ctx) {
		if refusal, err := c.resolve(ctx); refusal != nil || err != nil {
			return refusal, traceNone, err
		}
		answer, err = c.invoke(ctx)
	}
	if err != nil {
		return c.failed(err), traceOf(err), nil
	}
	return c.finish(ctx, answer)
}

// refresh reads the catalogue again and reports whether that worked.
func (c *call) refresh(ctx context.Context) bool {
	c.Log.WarnContext(ctx, "function version is gone; reading the catalogue again",
		"requestId", c.RequestID, "tool", c.Params.Name, "function", c.entry.Function)
	err := c.Catalogue.Refresh(ctx)
	if err != nil {
		c.Log.ErrorContext(ctx, "reading the catalogue again", "requestId", c.RequestID, "error", err)
	}
	return err == nil
}

// traceOf says what an invocation that failed left behind.
func traceOf(err error) trace {
	var failure *function.Failure
	switch {
	case errors.Is(err, function.ErrDeadline), errors.Is(err, function.ErrUnknown):
		return traceOpen
	case errors.As(err, &failure):
		return traceUnknown
	}
	return traceNone
}

// find looks the tool up. Tools that the caller may not see answer exactly as unknown ones.
func (c *call) find(ctx context.Context) error {
	entry, err := c.Catalogue.Lookup(ctx, c.Params.Name)
	switch {
	case errors.Is(err, registry.ErrUnknownTool):
		return c.refuse(outcomeUnknownTool, mcp.UnknownTool(c.Params.Name))
	case err != nil:
		c.cause = err
		return c.refuse(outcomeUnavailable, jsonrpc.Errorf(jsonrpc.CodeInternalError,
			"The tool catalogue cannot be read at the moment; nothing has run (request id %s)", c.RequestID))
	case !access.Visible(&entry.Tool.Contract, c.Principal):
		return c.refuse(outcomeUnknownTool, mcp.UnknownTool(c.Params.Name))
	}
	c.entry = entry
	return nil
}

// invoke runs the function version that the catalogue names.
func (c *call) invoke(ctx context.Context) ([]byte, error) {
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
