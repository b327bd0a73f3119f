package localgateway

import (
	"net/http"
	"strings"
	"testing"

	"patchbay/shared/gatewayresponse"
)

// The access log has every request, under the id that its answer names, also what the gateway answers itself.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	records := make(chan Access, 1)
	server := start(t, Options{Access: func(a Access) { records <- a }})
	for path, status := range map[string]int{"/mcp": http.StatusOK, "/elsewhere": http.StatusNotFound} {
		response, err := http.Post(server.URL+path, "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		got := <-records
		if got.RequestID == "" || got.RequestID != response.Header.Get("X-Amzn-Requestid") {
			t.Errorf("%s: the log says %q, the answer %q", path, got.RequestID, response.Header.Get("X-Amzn-Requestid"))
		}
		if got.Status != status || got.Path != path || got.HTTPMethod != http.MethodPost {
			t.Errorf("%s: logged %+v", path, got)
		}
	}
}

// It says which gateway response an answer is, and has the id also where an answer cannot name it.
func TestAccessLogOfGatewayResponses(t *testing.T) {
	t.Parallel()
	records := make(chan Access, 1)
	server := start(t, Options{Access: func(a Access) { records <- a }})
	for _, test := range []struct {
		path, long string
		status     int
		kind       string
	}{
		{"/mcp", "", http.StatusOK, ""},
		{"/elsewhere", "", http.StatusNotFound, gatewayresponse.MissingAuthenticationToken},
		{"/mcp", strings.Repeat("x", maxHeader), headerTooLong.status, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+test.path, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Long", test.long)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		got := <-records
		if got.RequestID == "" || got.TraceID == "" || got.Status != test.status || got.ResponseType != test.kind {
			t.Errorf("%s: logged %+v", test.path, got)
		}
		if got.Began.IsZero() || got.Took < 0 || got.Took.Milliseconds() != got.ResponseLatency {
			t.Errorf("%s: began %s, took %s, logged %d ms", test.path, got.Began, got.Took, got.ResponseLatency)
		}
	}
}
