package function

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// A connection that was idle across a pause is not used again; the other side may have closed it unseen.
func TestConnectionsAreFreshAfterAPause(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	// An answer without a body leaves its connection idle before the client sees it.
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	now := time.Unix(1_800_000_000, 0)
	transport := &freshTransport{base: newTransport(), now: func() time.Time { return now }}
	for _, step := range []struct {
		pause time.Duration
		want  int32
	}{
		{0, 1}, {maxIdle, 1}, {maxIdle, 1}, {maxIdle + 1, 2}, {time.Second, 2}, {time.Hour, 3},
		{-time.Second, 4}, // the wall clock was set back: how long the pause was is not known
		{0, 4},
	} {
		now = now.Add(step.pause)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if opened.Load() != step.want {
			t.Errorf("%d connections after a pause of %v, want %d", opened.Load(), step.pause, step.want)
		}
	}
}

// brokenWriterTo is a body whose WriteTo fails, as that of smithy-go does once it is closed.
type brokenWriterTo struct {
	bytes.Reader
	closed bool
}

func (*brokenWriterTo) WriteTo(io.Writer) (int64, error) { return 0, errors.New("WriteTo was called") }

func (b *brokenWriterTo) Close() error { b.closed = true; return nil }

func TestBodiesAreReadNotWritten(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	body := &brokenWriterTo{}
	body.Reset([]byte("payload"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = int64(len("payload"))
	response, err := (&freshTransport{base: newTransport(), now: time.Now}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != "payload" {
		t.Errorf("got %q, %v", got, err)
	}
	if request.Body != body {
		t.Error("the caller's request was changed")
	}
	if plainBody(request).Body.Close() != nil || !body.closed {
		t.Error("closing the body did not reach it")
	}
	request.Body = nil
	if plainBody(request) != request {
		t.Error("a request without a body was copied")
	}
}
