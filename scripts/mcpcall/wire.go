package mcpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
)

// maxKept bounds what is kept of an answer; API Gateway lets no larger one through than 10 MB.
const maxKept = 16 << 20

// newHTTPClient sends the token with every request and follows no redirect: an MCP endpoint gives none, and a token is
// not carried elsewhere.
func newHTTPClient(token string) *http.Client {
	return &http.Client{
		Transport: &wire{token: token, next: http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// wire lets exchanges see the answers to their requests.
type wire struct {
	token string
	next  http.RoundTripper
}

// RoundTrip sends a copy of the request with the token.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	copied := request.Clone(request.Context())
	if w.token != "" {
		copied.Header.Set("Authorization", "Bearer "+w.token)
	}
	response, err := w.next.RoundTrip(copied)
	if err != nil {
		return nil, err
	}
	seen, watched := request.Context().Value(exchangeKey{}).(*exchange)
	if !watched || response.StatusCode == http.StatusAccepted {
		return response, nil // nothing follows a notification
	}
	return response, seen.begin(response)
}

type exchangeKey struct{}

// exchange is what came over the wire for one operation of the SDK: of several requests, as when a person is asked in
// between, the last.
type exchange struct {
	progress func(Progress)

	mu     sync.Mutex
	status int
	header http.Header
	// body is what a refusal says; message the JSON-RPC response.
	body    []byte
	message message
	reports int
	// fault is why the answer was not read to its end; nil where it was.
	fault error
}

// message is a JSON-RPC message from a server.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// watch returns a context whose requests are seen.
func watch(ctx context.Context, progress func(Progress)) (context.Context, *exchange) {
	seen := &exchange{progress: progress}
	return context.WithValue(ctx, exchangeKey{}, seen), seen
}

// begin notes an answer's head and looks at its body while the SDK reads it.
func (x *exchange) begin(response *http.Response) error {
	x.mu.Lock()
	x.status, x.header, x.body, x.message = response.StatusCode, response.Header, nil, message{}
	x.mu.Unlock()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return x.refused(response)
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && kind == "text/event-stream" {
		stream := &events{see: x.take}
		response.Body = &tee{ReadCloser: response.Body, see: func(part []byte) error {
			if !stream.write(part) {
				return x.tooLarge("an event of the answer")
			}
			return nil
		}}
		return nil
	}
	whole := &bytes.Buffer{}
	response.Body = &tee{
		ReadCloser: response.Body,
		see: func(part []byte) error {
			if whole.Len()+len(part) > maxKept {
				return x.tooLarge("the answer")
			}
			whole.Write(part)
			return nil
		},
		end: func() { x.take(whole.Bytes()) },
	}
	return nil
}

// tooLarge ends an answer that would take all memory: the SDK reads on for as long as a server writes.
func (x *exchange) tooLarge(what string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fault = fmt.Errorf("%s has more than %d bytes; no more is read", what, maxKept)
	return x.fault
}

// refused keeps the body of a refusal, which the SDK drops when it is no JSON-RPC.
func (x *exchange) refused(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKept))
	if err != nil {
		return fmt.Errorf("reading an answer with status %d: %w", response.StatusCode, err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("closing an answer with status %d: %w", response.StatusCode, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	x.mu.Lock()
	x.body = body
	x.mu.Unlock()
	x.take(body)
	return nil
}

// take keeps a response and hands over a report of progress. What is no message is for the SDK to complain of.
func (x *exchange) take(text []byte) {
	var got message
	if json.Unmarshal(text, &got) != nil {
		return
	}
	if got.Method == "notifications/progress" {
		x.report(got.Params)
		return
	}
	if got.Result != nil || got.Error != nil {
		x.mu.Lock()
		x.message = got
		x.mu.Unlock()
	}
}

func (x *exchange) report(params json.RawMessage) {
	var report Progress
	if json.Unmarshal(params, &report) != nil {
		return
	}
	x.mu.Lock()
	x.reports++
	x.mu.Unlock()
	if x.progress != nil {
		x.progress(report)
	}
}

// refusal is what the server said against the request, where it did; else the SDK's own error.
func (x *exchange) refusal(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fault != nil {
		return x.fault
	}
	isError := x.status != 0 && (x.status < 200 || x.status > 299)
	if x.message.Error == nil && !isError {
		return plain(err)
	}
	refusal := &Refusal{Status: x.status, RequestID: requestID(x.header)}
	if x.message.Error != nil {
		refusal.Code, refusal.Message = x.message.Error.Code, x.message.Error.Message
	} else {
		refusal.Message = bodyMessage(x.body)
	}
	refusal.Challenge = readChallenge(x.header)
	return refusal
}

// plain takes off what the SDK puts around an error of the network, which says it three times.
func plain(err error) error {
	var network interface {
		error
		Timeout() bool
		Temporary() bool
	}
	if errors.As(err, &network) {
		return network
	}
	return err
}

// tee lets see look at what is read, and end know when there is no more. An error of see ends the reading.
type tee struct {
	io.ReadCloser
	see func([]byte) error
	end func()
}

// Read sees before it returns, so that what the reader acts on has been seen.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		if err := t.see(p[:n]); err != nil {
			return 0, err
		}
	}
	if errors.Is(err, io.EOF) && t.end != nil {
		t.end()
		t.end = nil
	}
	return n, err
}

// events takes a stream of server-sent events apart. Source: HTML Living Standard, 9.2.6.
type events struct {
	see  func(data []byte)
	line bytes.Buffer
	data bytes.Buffer
}

// write reports whether the stream goes on: it does not after a line or an event that is too large to be kept.
func (e *events) write(part []byte) bool {
	for len(part) > 0 {
		line, rest, ended := bytes.Cut(part, []byte{'\n'})
		if e.line.Len()+len(line) > maxKept {
			return false
		}
		e.line.Write(line)
		if !ended {
			return true
		}
		if !e.endLine(bytes.TrimSuffix(e.line.Bytes(), []byte{'\r'})) {
			return false
		}
		e.line.Reset()
		part = rest
	}
	return true
}

func (e *events) endLine(line []byte) bool {
	if len(line) == 0 {
		if e.data.Len() > 0 {
			e.see(e.data.Bytes())
		}
		e.data.Reset()
		return true
	}
	value, found := bytes.CutPrefix(line, []byte("data:"))
	if !found {
		return true
	}
	if e.data.Len()+len(value) > maxKept {
		return false
	}
	if e.data.Len() > 0 {
		e.data.WriteByte('\n')
	}
	e.data.Write(bytes.TrimPrefix(value, []byte{' '}))
	return true
}
