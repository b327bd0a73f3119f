package locallambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"patchbay/shared/xray"
)

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", s.serveInvoke)
	mux.HandleFunc("POST /2021-11-15/functions/{name}/response-streaming-invocations", s.serveStream)
	mux.HandleFunc("GET /2015-03-31/functions/{name}", s.serveFunction)
	mux.HandleFunc("GET /2015-03-31/functions/{name}/configuration", s.serveConfiguration)
	return mux
}

func (s *Service) serveInvoke(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get("X-Amz-Invocation-Type")
	limit := maxRequest
	switch kind {
	case "":
		kind = "RequestResponse"
	case "RequestResponse", "DryRun":
	case "Event":
		limit = maxEventRequest
	default:
		invalidParameter("X-Amz-Invocation-Type %q: RequestResponse, Event or DryRun", kind).write(w)
		return
	}
	c, err := s.readCall(r, kind, limit)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("X-Amzn-Requestid", c.requestID)
	switch kind {
	case "DryRun":
		s.dryRun(w, c)
	case "Event":
		s.acceptEvent(w, c)
	default:
		s.answer(w, r, c)
	}
}

// refuse answers with the service's error. Whoever's connection broke while the request was read gets one too.
func (s *Service) refuse(w http.ResponseWriter, err error) {
	refusal, ok := err.(*Error)
	if !ok {
		refusal = serviceError(err.Error())
	}
	refusal.write(w)
}

// readCall reads what is common to all kinds of invocation.
func (s *Service) readCall(r *http.Request, kind string, limit int) (call, error) {
	to, err := s.options.place().target(r.PathValue("name"), r.URL.Query().Get("Qualifier"))
	if err != nil {
		return call{}, err
	}
	payload, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if err != nil {
		return call{}, fmt.Errorf("reading the payload: %w", err)
	}
	if len(payload) > limit && r.ContentLength > int64(len(payload)) {
		return call{}, requestTooLarge(strconv.FormatInt(r.ContentLength, 10)+" byte", kind, limit)
	}
	c := call{target: to, requestID: uuid.NewString(), payload: payload, trace: r.Header.Get(xray.Header)}
	if c.trace == "" {
		c.trace = newTrace()
	}
	c.clientContext, err = clientContext(r.Header.Get("X-Amz-Client-Context"))
	if err != nil {
		return call{}, err
	}
	return c, c.check(kind, limit)
}

// check holds a payload against Lambda's rules: JSON, and not too much of it. An empty one becomes {}.
func (c *call) check(kind string, limit int) error {
	if len(c.payload) > limit {
		return requestTooLarge(strconv.Itoa(len(c.payload))+" byte", kind, limit)
	}
	if len(bytes.TrimSpace(c.payload)) == 0 {
		c.payload = []byte("{}")
	}
	if json.Valid(c.payload) {
		return nil
	}
	var value any
	return invalidContent(json.Unmarshal(c.payload, &value))
}

// clientContext decodes what goes to the function as it is. Source: API_Invoke, X-Amz-Client-Context: up to 3,583 bytes
// of base64-encoded JSON.
func clientContext(encoded string) (string, error) {
	if encoded == "" {
		return "", nil
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !json.Valid(decoded) || len(encoded) > 3583 {
		return "", &Error{
			Status: http.StatusBadRequest, Code: "InvalidRequestContentException",
			Message: "Client context must be a valid Base64-encoded JSON object of at most 3583 bytes.",
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, decoded); err != nil {
		return "", invalidContent(err)
	}
	return compact.String(), nil
}

func (s *Service) dryRun(w http.ResponseWriter, c call) {
	s.mu.Lock()
	_, err := s.find(c.name, c.qualifier)
	s.mu.Unlock()
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// answer runs the function and writes its whole answer. When the caller goes away the function runs on.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, c call) {
	inv, err := s.start(c)
	if err != nil {
		s.refuse(w, err)
		return
	}
	payload, failure, err := inv.outcome(r.Context())
	if err != nil {
		return
	}
	w.Header().Set("X-Amz-Executed-Version", inv.version.number)
	if failure != nil {
		w.Header().Set("X-Amz-Function-Error", Unhandled)
		payload = failure
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(payload)))
	w.Write(payload)
}

// outcome waits for the end of an invocation: the answer, or the failure. The error is the context's.
func (i *invocation) outcome(ctx context.Context) (payload, failure []byte, err error) {
	stop := context.AfterFunc(ctx, func() { i.answer.Close() })
	defer stop()
	payload, err = i.answer.all()
	if err != nil {
		return nil, nil, ctx.Err()
	}
	return payload, i.answer.failure(), nil
}
