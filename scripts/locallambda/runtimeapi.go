package locallambda

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// runtimeAPI is what the instance's runtime talks to, one listener an instance, so that it needs no other name.
// Source: docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and its OpenAPI document. A web page gets nothing from
// it: one that finds the port could take an invocation, or answer it.
func (in *instance) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", in.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", in.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", in.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", in.serveInitError)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := fromBrowser(r); reason != "" {
			refuse(w, http.StatusForbidden, "AccessDenied", reason)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serveNext ends the invocation before, if there was one, and waits for the next. The instance is frozen meanwhile.
func (in *instance) serveNext(w http.ResponseWriter, r *http.Request) {
	had, err := in.release()
	if err != nil {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", err.Error())
		return
	}
	if !had {
		in.becomeReady()
	} else if in.service.ready(in) {
		in.freeze()
	}
	select {
	case inv := <-in.inbox:
		inv.writeTo(w)
	case <-r.Context().Done():
	}
}

func (in *instance) becomeReady() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.isReady {
		in.isReady = true
		close(in.ready)
	}
}

func (i *invocation) writeTo(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Lambda-Runtime-Aws-Request-Id", i.requestID)
	header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
	header.Set("Lambda-Runtime-Invoked-Function-Arn", i.target.arn())
	header.Set("Lambda-Runtime-Trace-Id", i.trace)
	if i.clientContext != "" {
		header.Set("Lambda-Runtime-Client-Context", i.clientContext)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(i.payload)))
	w.Write(i.payload)
}

// claim takes the right to answer the invocation with this id.
func (in *instance) claim(id string) *invocation {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == nil || in.current.requestID != id || in.current.claimed {
		return nil
	}
	in.current.claimed = true
	return in.current
}

func (in *instance) serveResponse(w http.ResponseWriter, r *http.Request) {
	mode := r.Header.Get("Lambda-Runtime-Function-Response-Mode")
	if mode != "" && mode != "streaming" {
		refuse(w, http.StatusBadRequest, "InvalidResponseMode", "Lambda-Runtime-Function-Response-Mode: only streaming")
		return
	}
	inv := in.claim(r.PathValue("id"))
	if inv == nil {
		refuseID(w)
		return
	}
	inv.answer.begin(r.Header.Get("Content-Type"))
	limit := inv.responseLimit(r)
	switch err := inv.answer.copyFrom(r.Body, limit); {
	case errors.Is(err, errTooLarge):
		in.settle(inv, responseTooLarge(limit))
		// The rest is read, so that the runtime sees the status instead of a broken connection.
		io.Copy(io.Discard, io.LimitReader(r.Body, maxStreamedResponse))
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "Exceeded maximum allowed payload size")
	case err != nil:
		in.truncate()
	default:
		in.settle(inv, streamFailure(r.Trailer))
		accept(w)
	}
}

// responseLimit is the size that an answer may have. aws-lambda-go never says that it streams, so any answer of unknown
// length to a streaming caller counts as a stream.
func (i *invocation) responseLimit(r *http.Request) int {
	if i.streaming && r.ContentLength < 0 {
		return maxStreamedResponse
	}
	return maxBufferedResponse
}

var errTooLarge = errors.New("the response is too large")

// copyFrom hands on what the function writes, as it comes.
func (a *answer) copyFrom(body io.Reader, limit int) error {
	var buffer []byte
	total, size := 0, smallBuffer
	for {
		if len(buffer) < smallBuffer/4 {
			buffer = make([]byte, size)
			size = min(2*size, largeBuffer)
		}
		n, err := body.Read(buffer)
		if total += n; total > limit {
			return errTooLarge
		}
		if n > 0 {
			a.write(buffer[:n:n])
			buffer = buffer[n:]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Most answers are small; large ones are read in pieces that grow.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

// settle completes an invocation: the instance is known to be finishing before the caller can see the answer.
func (in *instance) settle(inv *invocation, failure []byte) {
	in.service.answered(in)
	inv.answer.finish(failure)
}

// truncate ends an instance whose answer broke off. When the process died the watcher tells why; when it lives on
// without its connection nothing good can follow.
func (in *instance) truncate() {
	in.awaitExit(truncationGrace)
	in.kill(causeTruncated)
}

// streamFailure reads the trailers by which a runtime reports that a streamed answer failed half-way.
// Source: docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html, "Building a custom runtime … response streaming".
func streamFailure(trailer http.Header) []byte {
	kind := trailer.Get("Lambda-Runtime-Function-Error-Type")
	if kind == "" {
		return nil
	}
	body, err := base64.StdEncoding.DecodeString(trailer.Get("Lambda-Runtime-Function-Error-Body"))
	if err != nil || !json.Valid(body) {
		return failure{Type: kind, Message: "The function failed while it streamed its response."}.payload()
	}
	return body
}

func (in *instance) serveError(w http.ResponseWriter, r *http.Request) {
	payload, err := readFailure(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	inv := in.claim(r.PathValue("id"))
	if inv == nil {
		refuseID(w)
		return
	}
	in.settle(inv, payload)
	accept(w)
}

func (in *instance) serveInitError(w http.ResponseWriter, r *http.Request) {
	payload, err := readFailure(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	in.mu.Lock()
	first := in.initError == nil && !in.isReady
	if first {
		in.initError = payload
	}
	in.mu.Unlock()
	if !first {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "init is over")
		return
	}
	accept(w)
	close(in.initFailed)
}

// readFailure reads an error report: its body, or, where that is not JSON, what the header says.
func readFailure(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBufferedResponse))
	if err != nil {
		return nil, err
	}
	if json.Valid(body) {
		return body, nil
	}
	kind := r.Header.Get("Lambda-Runtime-Function-Error-Type")
	if kind == "" {
		kind = "Runtime.Unknown"
	}
	return failure{Type: kind, Message: string(body)}.payload(), nil
}

func accept(w http.ResponseWriter) {
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func refuseID(w http.ResponseWriter) {
	refuse(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, failure{Type: kind, Message: message})
}
