package endpoint

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"patchbay/shared/jsonrpc"
)

var both = accepted{json: true, stream: true}

func id(t *testing.T) jsonrpc.ID {
	t.Helper()
	request, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":7,"method":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	return request.ID
}

func TestAnswerIsJSONUnlessSomethingWasSentBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		accepts accepted
		notify  bool
		want    string
		kind    string
	}{
		"json": {both, false, `{"jsonrpc":"2.0","id":7,"result":{}}`, "application/json"},
		"stream": {both, true, "data: {\"n\":1}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n",
			"text/event-stream"},
		"stream only": {accepted{stream: true}, false, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n",
			"text/event-stream"},
	} {
		w := httptest.NewRecorder()
		a := newAnswer(w, time.Hour)
		a.accepts = test.accepts
		if test.notify {
			a.notify([]byte(`{"n":1}`))
		}
		a.result(id(t), []byte(`{}`))
		a.notify([]byte(`{"late":true}`))
		if w.Body.String() != test.want || w.Header().Get("Content-Type") != test.kind || w.Code != http.StatusOK {
			t.Errorf("%s: got %d %s %q", name, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if streamed := test.kind == "text/event-stream"; streamed != (w.Header().Get("X-Accel-Buffering") == "no") {
			t.Errorf("%s: X-Accel-Buffering is %q", name, w.Header().Get("X-Accel-Buffering"))
		}
	}
}

func TestErrorKeepsItsStatusUntilAStreamIsOpen(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	a := newAnswer(w, time.Hour)
	a.accepts = accepted{stream: true}
	a.fail(http.StatusBadRequest, id(t), jsonrpc.Errorf(-32602, "no"))
	if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), "{") {
		t.Errorf("got %d %q", w.Code, w.Body)
	}

	w = httptest.NewRecorder()
	a = newAnswer(w, time.Hour)
	a.accepts = both
	a.notify([]byte(`{}`))
	a.fail(http.StatusInternalServerError, id(t), jsonrpc.Errorf(-32603, "broken"))
	if w.Code != http.StatusOK || !strings.HasSuffix(w.Body.String(), "\"message\":\"broken\"}}\n\n") {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

// An event's line breaks are carried by data lines, which the receiver joins (WHATWG HTML, section 9.2.6).
func TestEventOfSeveralLines(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	a := newAnswer(w, time.Hour)
	a.notify([]byte("{\n \"a\":\r\n1}"))
	if want := "data: {\ndata:  \"a\": \ndata: 1}\n\n"; w.Body.String() != want {
		t.Errorf("got %q, want %q", w.Body, want)
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		a := newAnswer(w, 15*time.Second)
		a.accepts = both
		sent := func() string {
			synctest.Wait()
			a.mu.Lock()
			defer a.mu.Unlock()
			return w.Body.String()
		}
		a.keepAwake()
		time.Sleep(14 * time.Second)
		if got := sent(); got != "" {
			t.Errorf("spoke early: %q", got)
		}
		time.Sleep(2 * time.Second)
		sent()
		a.notify([]byte(`{}`)) // at 16 s, so that the next comment is due at 31 s
		time.Sleep(14 * time.Second)
		if got, want := sent(), ":\n\ndata: {}\n\n"; got != want {
			t.Errorf("after 30 s got %q, want %q", got, want)
		}
		time.Sleep(32 * time.Second)
		sent()
		a.result(id(t), []byte(`{}`))
		got := sent()
		time.Sleep(time.Hour)
		if strings.Count(got, ":\n\n") != 4 || !strings.HasSuffix(got, "\"result\":{}}\n\n") || sent() != got {
			t.Errorf("got %q, and at last %q", got, sent())
		}
	})
}

func TestNoKeepAliveForAClientThatReadsNoStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		a := newAnswer(w, time.Second)
		a.accepts = accepted{json: true}
		a.keepAwake()
		time.Sleep(time.Minute)
		synctest.Wait()
		a.result(id(t), []byte(`{}`))
		if w.Body.String() != `{"jsonrpc":"2.0","id":7,"result":{}}` {
			t.Errorf("got %q", w.Body)
		}
	})
}

// leaver is the writer of a client that leaves after so many writes.
type leaver struct {
	http.ResponseWriter
	left, tries int
}

func (l *leaver) Write(p []byte) (int, error) {
	l.tries++
	if l.tries > l.left {
		return 0, errors.New("client left")
	}
	return l.ResponseWriter.Write(p)
}

// After the first write that fails nothing more is written, and no timer runs on.
func TestNothingIsWrittenToAClientThatLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		left int
		use  func(a *answer)
		want int
	}{
		"before the first notification": {0, func(a *answer) { a.notify([]byte(`{}`)) }, 1},
		"before the first comment":      {0, func(*answer) { time.Sleep(time.Minute) }, 1},
		"after two comments":            {2, func(*answer) { time.Sleep(time.Hour) }, 3},
		"between notifications": {1, func(a *answer) {
			for range 5 {
				a.notify([]byte(`{}`))
			}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &leaver{ResponseWriter: httptest.NewRecorder(), left: test.left}
				a := newAnswer(w, 15*time.Second)
				a.accepts = both
				a.keepAwake()
				test.use(a)
				time.Sleep(time.Hour)
				if a.timer.Stop() {
					t.Error("the keep-alive timer runs on")
				}
				a.result(id(t), []byte(`{}`))
				if w.tries != test.want {
					t.Errorf("%d writes, want %d", w.tries, test.want)
				}
			})
		})
	}
}

func TestNothingFollowsTheEndOfAnAnswer(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	a := newAnswer(w, time.Hour)
	a.accepts = both
	a.result(id(t), []byte(`{}`))
	before := w.Body.String()
	a.fail(http.StatusInternalServerError, id(t), jsonrpc.Errorf(-32603, "late"))
	a.notify([]byte(`{"late":true}`))
	a.result(id(t), []byte(`{"late":true}`))
	if w.Body.String() != before || a.sent() != http.StatusOK {
		t.Errorf("got %d %q, want %q alone", a.sent(), w.Body, before)
	}
}
