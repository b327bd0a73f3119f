// Package localgateway is API Gateway on one machine: a REST API with a few resources, whose streaming integration
// invokes the dispatcher's Lambda, and with a REQUEST authorizer before those that are not open.
//
// It does to a request and an answer what AWS does, so that what bites there bites here first: the proxy event of
// version 1, the limits on headers, bodies and events, the integration's time-out, the header fields that are dropped
// or renamed on either way, the gateway's own error responses, and silence about clients that leave. One of the fields
// that are renamed when a Lambda sends them is WWW-Authenticate: only the gateway's own responses carry it, as a fixed
// text or as a value that the authorizer computed.
//
// Not emulated: stages in the path, the rate of 2 MB/s past the first 10 MB, WAF, CloudFront's header fields, and that
// an authorizer's results are kept. Field names reach a Lambda as the client wrote them; here they come in the form of
// net/http.
package localgateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"patchbay/scripts/locallambda"
	"patchbay/shared/gatewayresponse"
)

// An Invoker runs a function and returns when its answer begins; locallambda.Service is one. The function runs on when
// ctx ends. A refusal is a *locallambda.Error.
type Invoker interface {
	Invoke(ctx context.Context, arn string, payload []byte) (*locallambda.Response, error)
}

// Options describe the API. Invoker and FunctionARN are required.
type Options struct {
	// Routes are the addresses that the API has; anything else answers 404. nil means the MCP endpoint with all methods,
	// of which OPTIONS is open.
	Routes []Route
	// Invoker runs the functions.
	Invoker Invoker
	// FunctionARN names the function, with its version or alias.
	FunctionARN string
	// Timeout is the integration's: it bounds the whole answer. 0 means 29 seconds, and more than the 15 minutes of a
	// streaming integration means 15 minutes.
	Timeout time.Duration
	// IdleTimeout bounds the time between two chunks of an answer; 0 means the 5 minutes of a regional API.
	IdleTimeout time.Duration
	// BodyTimeout bounds the reading of a request's body; 0 means 30 seconds.
	BodyTimeout time.Duration
	// Rate is how many requests a second the stage takes in the long run, and Burst how many at once; a Rate of 0 takes
	// all.
	Rate  float64
	Burst int
	// AuthorizerARN names the function that decides on every request to a route that is not open, with its version or
	// alias; empty for an API without an authorizer, which lets everybody in, as nobody in particular.
	AuthorizerARN string
	// AuthorizerTimeout bounds the wait for the authorizer; 0 means 30 seconds.
	AuthorizerTimeout time.Duration
	// Principals stand in for the authorizer: the callers whom the gateway lets in, by their tokens. nil has none; it
	// means nothing beside AuthorizerARN.
	Principals Principals
	// Responses say what the gateway's own responses carry, challenges above all.
	Responses gatewayresponse.Options
	// Logger gets one record for each answer that the gateway gave itself and each stream that broke; nil is
	// slog.Default().
	Logger *slog.Logger
	// Access gets the access log, one record for each request when its answer has ended; nil drops it. It is called from
	// several goroutines at once.
	Access func(Access)
}

// Time-outs of a streaming integration.
// Source: API Gateway developer guide, "Stream the integration response for your proxy integrations".
const (
	defaultTimeout = 29 * time.Second
	maxTimeout     = 15 * time.Minute
	idleTimeout    = 5 * time.Minute
)

// Bounds on clients that connect and then send little or nothing. AWS says no numbers.
const (
	readTimeout    = 30 * time.Second
	idleConnection = 5 * time.Minute
	// maxRead is more than the gateway's own limit, so that most of what is over it gets AWS's answer.
	maxRead = 64 << 10
)

// NewServer returns a server of the API that gives up clients which do not send what they began, or nothing at all. It
// has no address and no limit on the time of an answer: that is Options.Timeout.
func NewServer(options Options) *http.Server {
	return &http.Server{
		Handler: New(options), ReadHeaderTimeout: readTimeout, IdleTimeout: idleConnection, MaxHeaderBytes: maxRead,
	}
}

// New returns the API as a handler for an http.Server, which has to bound the reading of header fields itself: see
// NewServer.
func New(options Options) http.Handler {
	if options.Routes == nil {
		options.Routes = endpointRoutes()
	}
	if options.AuthorizerTimeout == 0 {
		options.AuthorizerTimeout = authorizerTimeout
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.IdleTimeout == 0 {
		options.IdleTimeout = idleTimeout
	}
	if options.BodyTimeout == 0 {
		options.BodyTimeout = readTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	options.Timeout = min(options.Timeout, maxTimeout)
	g := &gateway{
		Options: options, limiter: rate.NewLimiter(rate.Inf, 0), responses: newResponseTable(options.Responses),
	}
	switch {
	case options.AuthorizerARN != "":
		g.authorizer = lambdaAuthorizer{options.Invoker, options.AuthorizerARN}
	case options.Principals != nil:
		g.authorizer = options.Principals
	}
	if options.Rate > 0 {
		g.limiter = rate.NewLimiter(rate.Limit(options.Rate), options.Burst)
	}
	if options.Access == nil {
		return g
	}
	return logAccess(g, options.Access)
}

// traced is a context whose invocations are the request's.
func (e *exchange) traced(ctx context.Context) context.Context {
	return locallambda.WithRequestID(locallambda.WithTrace(ctx, e.trace), e.id)
}

type gateway struct {
	Options
	limiter *rate.Limiter
	// authorizer is nil where everybody is let in.
	authorizer authorizer
	responses  responseTable
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := g.newExchange(w, r)
	// It holds for refusals too, after which net/http reads on. A writer of another kind than a connection's has none.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(e.begun.Add(g.BodyTimeout))
	route, found := g.route(method(r), r.URL.Path)
	if !found {
		e.refuse(unknownRoute)
		return
	}
	if !g.limiter.Allow() {
		e.refuse(throttled)
		return
	}
	e.event = e.facts(route.Path)
	if refused := readBody(r, &e.event); refused != nil {
		e.refuse(*refused)
		return
	}
	// net/http reads on to see when the client leaves, from the beginning where there is no body; a deadline that passed
	// would look like that.
	_ = connection.SetReadDeadline(time.Time{})
	if g.authorizer != nil && !route.Open && !g.admit(e) {
		return
	}
	g.integrate(e, encode(e.event))
}

// integrate invokes the function and passes its answer on. The deadline and the client's departure end the listening,
// never the function.
func (g *gateway) integrate(e *exchange, payload []byte) {
	ctx, cancel := context.WithTimeout(e.request.Context(), g.Timeout)
	defer cancel()
	response, err := g.Invoker.Invoke(e.traced(ctx), g.FunctionARN, payload)
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
	// event is what the functions get to know of the request, as far as it is known.
	event     proxyEvent
	responses responseTable
}

func (g *gateway) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	e := &exchange{
		id: uuid.NewString(), begun: time.Now(), writer: w, request: r, log: g.Logger, responses: g.responses,
	}
	e.trace = traceID(r.Header.Get("X-Amzn-Trace-Id"), e.begun)
	e.event.RequestContext.RequestID = e.id
	if counted, ok := w.(*countingWriter); ok {
		counted.requestID, counted.traceID = e.id, e.trace
	}
	return e
}
