package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"patchbay/functions/internal/tracker"
	"patchbay/functions/internal/tracker/trackertest"
	"patchbay/scripts/trackerapi"
	"patchbay/shared/secret"
)

func jsonDecode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding %q: %w", data, err)
	}
	return nil
}

func body(text string) trackertest.Between {
	return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// cut ends the connection in the middle of an answer.
func cut(api http.Handler, w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, r)
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// slow answers when the client has given up, of which a server hears only after it has read the request.
func slow(_ http.Handler, _ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestReadingFromAnAPIThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		act  trackertest.Between
		code string
		part string
	}{
		"401":           {trackertest.Status(401), tracker.CodeCredential, "tracker_api_token"},
		"403":           {trackertest.Status(403), tracker.CodeForbidden, "ask for the right"},
		"404":           {trackertest.Status(404), tracker.CodeUnavailable, "try again later"},
		"409":           {trackertest.Status(409), tracker.CodeUnavailable, ""},
		"400":           {trackertest.Status(400), tracker.CodeRefused, "does not say which value"},
		"429":           {trackertest.Status(429), tracker.CodeBusy, "in a minute"},
		"429, 1 hour":   {trackertest.Status(429, "Retry-After", "3600"), tracker.CodeBusy, "in 1h0m0s"},
		"429, at once":  {trackertest.Status(429, "Retry-After", "0"), tracker.CodeBusy, "in a minute"},
		"500":           {trackertest.Status(500), tracker.CodeUnavailable, ""},
		"503":           {trackertest.Status(503), tracker.CodeUnavailable, ""},
		"redirect":      {trackertest.Status(302, "Location", "/v2/users"), tracker.CodeUnavailable, ""},
		"no content":    {trackertest.Status(204), tracker.CodeUnavailable, ""},
		"cut":           {cut, tracker.CodeUnavailable, ""},
		"HTML":          {body("<html>BODY</html>"), tracker.CodeUnavailable, ""},
		"truncated":     {body(`{"data":[{"id":"BODY"`), tracker.CodeUnavailable, ""},
		"wrong types":   {body(`{"data":{"BODY":1}}`), tracker.CodeUnavailable, ""},
		"no page":       {body(`{"data":[]}`), tracker.CodeUnavailable, ""},
		"wrong page":    {body(`{"data":[],"page":3,"per_page":7,"total":0}`), tracker.CodeUnavailable, ""},
		"without bound": {body(`{"data":[],"BODY":"` + strings.Repeat("x", 5<<20) + `"}`), tracker.CodeUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := trackertest.Start(t, test.act).Project(t.Context(), "WEB")
			check(t, err, test.code, test.part)
		})
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"the same page again": "same", "new items for ever": "%s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := trackertest.Start(t, func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
				page := r.URL.Query().Get("page")
				fmt.Fprintf(w, `{"data":[{"id":%q,"key":"LOOP","name":"Loop"}],"page":%s,"per_page":1,"total":999999}`,
					strings.ReplaceAll(id, "%s", page), page)
			})
			_, err := client.Project(t.Context(), "WEB")
			check(t, err, tracker.CodeUnavailable)
		})
	}
}

func TestIssuesInAFormThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"state", "priority"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
				answer := httptest.NewRecorder()
				api.ServeHTTP(answer, r)
				text := answer.Body.String()
				for _, number := range []string{"1", "2", "3"} {
					text = strings.ReplaceAll(text, `"`+field+`":`+number, `"`+field+`":9`)
				}
				fmt.Fprint(w, text)
			})
			project, err := client.Project(t.Context(), "WEB")
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = client.Search(t.Context(), project, tracker.Filter{}, 5)
			check(t, err, tracker.CodeUnavailable)
			_, err = client.Issue(t.Context(), "WEB-142")
			check(t, err, tracker.CodeUnavailable)
		})
	}
}

func TestReadingIsRepeatedOnceWhenTheAPISaysWhen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refusals int64
		act      trackertest.Between
		want     int64 // requests
		code     string
	}{
		"429 once":            {1, trackertest.Status(429, "Retry-After", "0"), 2, ""},
		"503 once":            {1, trackertest.Status(503, "Retry-After", "0"), 2, ""},
		"a date past":         {1, trackertest.Status(429, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), 2, ""},
		"twice":               {2, trackertest.Status(429, "Retry-After", "0"), 2, tracker.CodeBusy},
		"without Retry-After": {1, trackertest.Status(503), 1, tracker.CodeUnavailable},
		"too long":            {1, trackertest.Status(429, "Retry-After", "60"), 1, tracker.CodeBusy},
		"500":                 {1, trackertest.Status(500, "Retry-After", "0"), 1, tracker.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) <= test.refusals {
					test.act(api, w, r)
					return
				}
				api.ServeHTTP(w, r)
			})
			_, err := client.Project(t.Context(), "API")
			if test.code != "" {
				check(t, err, test.code)
			} else if err != nil {
				t.Errorf("error %v, want success at the second request", err)
			}
			if got := requests.Load(); got != test.want {
				t.Errorf("%d requests, want %d", got, test.want)
			}
		})
	}
}

// writeFailures are what an API may do to a change, and whether it can have happened then.
func writeFailures() map[string]struct {
	act  trackertest.Between
	code string
} {
	return map[string]struct {
		act  trackertest.Between
		code string
	}{
		"400":       {trackertest.Status(400), tracker.CodeRefused},
		"401":       {trackertest.Status(401), tracker.CodeCredential},
		"403":       {trackertest.Status(403), tracker.CodeForbidden},
		"422":       {trackertest.Status(422), tracker.CodeRefused},
		"429":       {trackertest.Status(429, "Retry-After", "0"), tracker.CodeBusy},
		"307":       {trackertest.Status(307, "Location", "/v2/users"), tracker.CodeUnavailable},
		"500":       {trackertest.Status(500), tracker.CodeOutcomeUnknown},
		"503":       {trackertest.Status(503, "Retry-After", "0"), tracker.CodeOutcomeUnknown},
		"202":       {trackertest.Status(202), tracker.CodeOutcomeUnknown},
		"cut":       {cut, tracker.CodeOutcomeUnknown},
		"truncated": {body(`{"id":"BODY"`), tracker.CodeOutcomeUnknown},
		"empty":     {body(`{}`), tracker.CodeOutcomeUnknown},
		"HTML":      {body(`<p>BODY</p>`), tracker.CodeOutcomeUnknown},
		"slow":      {slow, tracker.CodeOutcomeUnknown},
	}
}

// counted counts the requests that act answers.
func counted(act trackertest.Between, requests *atomic.Int64) trackertest.Between {
	return func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		act(api, w, r)
	}
}

func TestChangesThatFailAreNeverSentTwice(t *testing.T) {
	t.Parallel()
	for name, test := range writeFailures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var writes atomic.Int64
			client := trackertest.Start(t, trackertest.OnWrites(counted(test.act, &writes)))
			project, err := client.Project(t.Context(), "WEB")
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Create(t.Context(), project, tracker.Draft{Title: "a", Priority: tracker.Low})
			check(t, err, test.code)
			if test.code == tracker.CodeOutcomeUnknown {
				check(t, err, test.code, "newest issues of WEB with tracker_search_issues")
			}
			issue, err := client.Issue(t.Context(), "WEB-142")
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Move(t.Context(), issue, tracker.Done)
			check(t, err, test.code)
			if test.code == tracker.CodeOutcomeUnknown {
				check(t, err, test.code, "WEB-142 is done", "does no harm")
			}
			if got := writes.Load(); got != 2 {
				t.Errorf("%d changes were sent for two calls", got)
			}
		})
	}
}

func TestTheRefusedArgumentIsNamed(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"": "this title", strings.Repeat("é", 201): "this title"} {
		client := trackertest.Start(t, nil)
		project, err := client.Project(t.Context(), "WEB")
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Create(t.Context(), project, tracker.Draft{Title: title, Priority: tracker.Low})
		check(t, err, tracker.CodeRefused, want)
		_, err = client.Create(t.Context(), project, tracker.Draft{Title: "a", Priority: tracker.Low, AssigneeID: "x"})
		check(t, err, tracker.CodeRefused, "this assignee")
	}
}

func TestThingsThatAreDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	client := trackertest.Start(t, trackertest.OnWrites(counted(trackertest.Status(404), &writes)))
	issue, err := client.Issue(t.Context(), "WEB-142")
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Move(t.Context(), issue, tracker.Done)
	check(t, err, tracker.CodeUnknownIssue, "WEB-142 was deleted")
	gone := tracker.Project{Key: "GONE", ID: "gone"}
	_, err = client.Create(t.Context(), gone, tracker.Draft{Title: "a", Priority: tracker.Low})
	check(t, err, tracker.CodeUnknownProject, "GONE was deleted")
	_, _, err = client.Search(t.Context(), gone, tracker.Filter{}, 1)
	check(t, err, tracker.CodeUnknownProject, "GONE was deleted")

	client = trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/issues/") {
			trackertest.Status(404)(api, w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
	_, err = client.Issue(t.Context(), "WEB-142")
	check(t, err, tracker.CodeUnknownIssue, "WEB-142 was deleted")
}

func TestAServerThatDoesNotListen(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client := trackertest.Client(t, "http://"+listener.Addr().String())
	_, err = client.Project(t.Context(), "WEB")
	check(t, err, tracker.CodeUnavailable)
	_, err = client.Create(t.Context(), tracker.Project{ID: "x"}, tracker.Draft{Title: "a"})
	check(t, err, tracker.CodeUnavailable, "Nothing was changed")
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	t.Run("reading ends with the call", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, err := trackertest.Start(t, slow).Project(ctx, "WEB")
		check(t, err, tracker.CodeUnavailable)
	})
	t.Run("a change is not begun without the time to hear of it", func(t *testing.T) {
		t.Parallel()
		var writes atomic.Int64
		client := trackertest.Start(t, trackertest.OnWrites(counted(slow, &writes)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Create(ctx, tracker.Project{ID: "x"}, tracker.Draft{Title: "a"})
		check(t, err, tracker.CodeUnavailable, "Nothing was changed")
		if writes.Load() != 0 {
			t.Error("the change was sent")
		}
	})
}

// Where an API sends its callers elsewhere, neither token nor request may follow.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(other.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		client := trackertest.Start(t, trackertest.Status(code, "Location", other.URL+"/v2/projects"))
		_, err := client.Project(t.Context(), "WEB")
		check(t, err, tracker.CodeUnavailable)
	}
	if visits.Load() != 0 {
		t.Errorf("%d requests went to the other host", visits.Load())
	}
}

type noTokens struct{}

func (noTokens) Get(context.Context, string) (secret.Value, error) {
	return secret.Value{}, secret.ErrNotFound
}

func TestWithoutATokenNothingIsSent(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	api := trackerapi.New(trackerapi.Options{Token: trackertest.Token})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := tracker.New(tracker.Options{URL: server.URL, Secrets: noTokens{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Project(t.Context(), "WEB")
	check(t, err, tracker.CodeCredential)
	_, err = client.Create(t.Context(), tracker.Project{ID: "x"}, tracker.Draft{Title: "a"})
	check(t, err, tracker.CodeCredential)
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent", requests.Load())
	}
}
