// Package localgateway is API Gateway on one machine: a REST API with one resource, whose streaming integration invokes
// the dispatcher's Lambda.
//
// It does to a request and an answer what AWS does, so that what bites there bites here first: the proxy event of
// version 1, the limits on headers, bodies and events, the integration's time-out, the header fields that are dropped
// or renamed on either way, the gateway's own error responses, and silence about clients that leave. Not emulated:
// stages in the path, the rate of 2 MB/s past the first 10 MB, throttling by the gateway itself, WAF, CloudFront's
// header fields. Field names reach a Lambda as the client wrote them; here they come in the form of net/http.
package localgateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"patchbay/scripts/locallambda"
)

// An Invoker runs a function and returns when its answer begins; locallambda.Service is one. The function runs on when
// ctx ends. A refusal is a *locallambda.Error.
type Invoker interface {
	Invoke(ctx context.Context, arn string, payload []byte) (*locallambda.Response, error)
}

// Options describe the API. Invoker and FunctionARN are required.
type Options struct {
	// Path is the one resource that has methods, all of them; "/mcp" when empty. Any other path answers 404.
	Path string
	// Invoker runs the function.
	Invoker Invoker
	// FunctionARN names the function, with its version or alias.
	FunctionARN string
	// Timeout is the integration's: it bounds the whole answer. 0 means 29 seconds, and more than the 15 minutes of a
	// streaming integration means 15 minutes.
	Timeout time.Duration
	// IdleTimeout bounds the time between two chunks of an answer; 0 means the 5 minutes of a regional API.
	IdleTimeout time.Duration
	// Logger gets one record for each answer that the gateway gave itself and each stream that broke; nil is
	// slog.Default().
	Logger *slog.Logger
}

// Time-outs of a streaming integration.
// Source: API Gateway developer guide, "Stream the integration response for your proxy integrations".
const (
	defaultTimeout = 29 * time.Second
	maxTimeout     = 15 * time.Minute
	idleTimeout    = 5 * time.Minute
)

// New returns the API as a handler for an http.Server.
func New(options Options) http.Handler {
	if options.Path == "" {
		options.Path = "/mcp"
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.IdleTimeout == 0 {
		options.IdleTimeout = idleTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	options.Timeout = min(options.Timeout, maxTimeout)
	return &gateway{options}
}

type gateway struct{ Options }

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := newExchange(w, r, g.Logger)
	if r.URL.Path != g.Path {
		e.refuse(unknownRoute)
		return
	}
	payload, refused := readEvent(r, e.facts(g.Path))
	if refused != nil {
		e.refuse(*refused)
		return
	}
	g.integrate(e, payload)
}

// integrate invokes the function and passes its answer on. The deadline and the client's departure end the listening,
// never the function.
func (g *gateway) integrate(e *exchange, payload []byte) {
	ctx, cancel := context.WithTimeout(e.request.Context(), g.Timeout)
	defer cancel()
	response, err := g.Invoker.Invoke(ctx, g.FunctionARN, payload)
	if err != nil {
		e.refuseFailure(ctx, err)
		return
	}
	defer response.Body.Close()
	defer context.AfterFunc(ctx, func() { response.Body.Close() })()
	idle := time.AfterFunc(g.IdleTimeout, func() { response.Body.Close() })
	defer idle.Stop()
	e.pass(ctx, response, func() { idle.Reset(g.IdleTimeout) })
}

// refuseFailure answers for an invocation that did not begin to answer.
func (e *exchange) refuseFailure(ctx context.Context, err error) {
	var refusal *locallambda.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.refuse(timedOut)
	case ctx.Err() != nil: // the client has left
	case errors.As(err, &refusal) && refusal.Status == http.StatusRequestEntityTooLarge:
		e.refuse(eventTooLong)
	default:
		e.log.Error("invocation refused", "requestId", e.id, "error", err)
		e.refuse(integrationFailed)
	}
}

// exchange is one request on its way through the gateway.
type exchange struct {
	id      string
	trace   string
	begun   time.Time
	writer  http.ResponseWriter
	request *http.Request
	log     *slog.Logger
}

func newExchange(w http.ResponseWriter, r *http.Request, log *slog.Logger) *exchange {
	e := &exchange{id: uuid.NewString(), begun: time.Now(), writer: w, request: r, log: log}
	e.trace = traceID(r.Header.Get("X-Amzn-Trace-Id"), e.begun)
	return e
}
