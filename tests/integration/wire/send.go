package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// answer is one HTTP response, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send writes a request as it is, so that nothing between a case and the server tidies it up, and reads the answer.
func send(ctx context.Context, endpoint string, request []byte) (*answer, error) {
	conn, err := dial(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, fmt.Errorf("setting the deadline of the connection: %w", err)
		}
	}
	// A server may answer and close before it has read a large body, so the answer counts, not whether writing ended.
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(request)
		written <- err
	}()
	got, err := receive(conn)
	if err != nil {
		conn.Close()
		return nil, errors.Join(err, <-written)
	}
	return got, nil
}

func dial(ctx context.Context, endpoint string) (net.Conn, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("parsing the endpoint's URL: %w", err)
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if u.Scheme == "https" {
		dialer = &tls.Dialer{}
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return conn, nil
}

func receive(conn net.Conn) (*answer, error) {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the body of the answer with status %d: %w", response.StatusCode, err)
	}
	return &answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// messages returns the JSON-RPC messages in the answer, in order.
func (a *answer) messages() ([]any, error) {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("content type %q: %w", a.header.Get("Content-Type"), err)
	}
	var texts [][]byte
	switch media {
	case "text/event-stream":
		texts = eventData(a.body)
	case "application/json":
		texts = [][]byte{a.body}
	default:
		return nil, fmt.Errorf("content type %q, want application/json or text/event-stream", media)
	}
	messages := make([]any, len(texts))
	for i, text := range texts {
		if messages[i], err = decodeJSON(text); err != nil {
			return nil, fmt.Errorf("message %d is not JSON: %w: %.80q", i, err, text)
		}
	}
	return messages, nil
}

// eventData returns the data of every event of an event stream that has some.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
func eventData(stream []byte) [][]byte {
	var (
		events [][]byte
		lines  [][]byte
	)
	text := strings.ReplaceAll(string(stream), "\r\n", "\n")
	for line := range strings.SplitSeq(text, "\n") {
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			lines = append(lines, []byte(strings.TrimPrefix(value, " ")))
			continue
		}
		if line == "" && len(lines) > 0 {
			events, lines = append(events, bytes.Join(lines, []byte("\n"))), nil
		}
	}
	return events
}
