package localgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"patchbay/scripts/locallambda"
)

// maxPrelude is how far the end of the prelude may lie from the beginning of the answer, its zero bytes included.
// Source: API Gateway developer guide, "Set up a Lambda proxy integration with payload response streaming".
const maxPrelude = 16 << 10

// prelude is what an answer begins with; anything else in it is an error on AWS too.
type prelude struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
}

// pass hands the function's answer to the client, chunk by chunk. alive is called for each chunk.
func (e *exchange) pass(ctx context.Context, response *locallambda.Response, alive func()) {
	head, rest, err := readPrelude(response.Body)
	if err != nil {
		e.refuseAnswer(ctx, response, err)
		return
	}
	e.writeHead(head)
	if err := e.write(rest); err != nil {
		return
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := response.Body.Read(buffer)
		alive()
		if n > 0 && e.write(buffer[:n]) != nil {
			return // the client has left; the function goes on
		}
		if err != nil {
			e.end(ctx, response, err)
			return
		}
	}
}

// refuseAnswer answers for a function whose answer has no usable beginning.
func (e *exchange) refuseAnswer(ctx context.Context, response *locallambda.Response, err error) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the client has left
	case errors.Is(err, io.ErrClosedPipe): // by one of the time-outs
		e.refuse(timedOut)
	case errors.Is(err, io.EOF) && response.FunctionError() != "":
		e.log.Error("function failed", "requestId", e.id, "invocation", response.RequestID)
		e.refuse(integrationFailed)
	default:
		e.log.Error("malformed answer", "requestId", e.id, "invocation", response.RequestID, "error", err)
		e.refuse(badAnswer)
	}
}

// write sends a chunk at once.
func (e *exchange) write(chunk []byte) error {
	if _, err := e.writer.Write(chunk); err != nil {
		return err
	}
	return http.NewResponseController(e.writer).Flush()
}

// end ends the response: as a whole one when the function has ended well, else by cutting the connection, since the
// status is long sent.
func (e *exchange) end(ctx context.Context, response *locallambda.Response, err error) {
	switch {
	case e.request.Context().Err() != nil:
		return
	case !errors.Is(err, io.EOF):
		e.log.Error("stream cut", "requestId", e.id, "error", errors.Join(err, ctx.Err()))
	case response.FunctionError() != "":
		e.log.Error("function failed in its stream", "requestId", e.id, "invocation", response.RequestID)
	default:
		return
	}
	panic(http.ErrAbortHandler)
}

// readPrelude reads up to the zero bytes; rest is what was read of the body with them. The error is io.EOF when the
// answer ended before.
func readPrelude(body io.Reader) (head prelude, rest []byte, err error) {
	var read []byte
	end := make([]byte, 8)
	buffer := make([]byte, maxPrelude)
	for {
		n, err := body.Read(buffer)
		read = append(read, buffer[:n]...)
		if at := bytes.Index(read[:min(len(read), maxPrelude)], end); at >= 0 {
			head, err := parsePrelude(read[:at])
			return head, read[at+len(end):], err
		}
		if len(read) >= maxPrelude {
			return prelude{}, nil, fmt.Errorf("no end of the prelude within %d bytes", maxPrelude)
		}
		if err != nil {
			return prelude{}, nil, fmt.Errorf("reading the prelude: %w", err)
		}
	}
}

func parsePrelude(raw []byte) (prelude, error) {
	var p prelude
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return prelude{}, fmt.Errorf("decoding the prelude: %w", err)
	}
	if p.StatusCode < 200 || p.StatusCode > 599 {
		return prelude{}, fmt.Errorf("the prelude's statusCode is %d; allowed: 200 to 599", p.StatusCode)
	}
	return p, nil
}

// What becomes of the response fields of a Lambda integration.
// Source: API Gateway developer guide, "Amazon API Gateway important notes".
var (
	renamed = map[string]bool{
		"Authorization": true, "Connection": true, "Content-Md5": true, "Date": true, "Max-Forwards": true, "Server": true,
		"User-Agent": true, "Www-Authenticate": true,
	}
	dropped = map[string]bool{
		"Expect": true, "Host": true, "Proxy-Authenticate": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
		"Upgrade": true, "Via": true,
	}
)

func (e *exchange) writeHead(p prelude) {
	header := e.writer.Header()
	for name, values := range p.fields() {
		switch {
		case dropped[name]:
		case renamed[name]:
			header["X-Amzn-Remapped-"+name] = values
		default:
			header[name] = values
		}
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	e.stamp(header)
	e.writer.WriteHeader(p.StatusCode)
}

// fields joins the three ways to name a field; multiValueHeaders win over headers, whatever the case of their names.
func (p prelude) fields() http.Header {
	fields := http.Header{}
	for name, value := range p.Headers {
		fields.Set(name, value)
	}
	for name := range p.MultiValueHeaders {
		fields.Del(name)
	}
	for name, values := range p.MultiValueHeaders {
		for _, value := range values {
			fields.Add(name, strings.TrimSpace(value))
		}
	}
	for _, cookie := range p.Cookies {
		fields.Add("Set-Cookie", cookie)
	}
	return fields
}
