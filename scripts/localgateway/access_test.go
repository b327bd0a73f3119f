package localgateway

import (
	"net/http"
	"strings"
	"testing"
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
