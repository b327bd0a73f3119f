package upstream

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// transport is a RoundTripper that gives requests to one API their token.
type transport struct {
	api    *url.URL
	base   http.RoundTripper
	tokens *tokens
}

// RoundTrip sends the request with a token, and once more with a fresh one when the API answers 401. A 401 says that
// nothing was done, so that requests of every method are sent again whose body can be had again.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !t.isAPI(request.URL) {
		discard(request)
		return nil, fmt.Errorf("the request goes to %s://%s, and its token is for %s://%s alone", request.URL.Scheme,
			request.URL.Host, t.api.Scheme, t.api.Host)
	}
	used, err := t.tokens.get(request.Context())
	if err != nil {
		discard(request)
		return nil, err
	}
	response, err := t.base.RoundTrip(authorized(request, used))
	if err != nil || response.StatusCode != http.StatusUnauthorized || !repeatable(request) {
		return response, err
	}
	// Where there is no other token, what the API said is the answer.
	fresh, err := t.tokens.instead(request.Context(), used)
	if err != nil || fresh.access == used.access {
		return response, nil
	}
	again := authorized(request, fresh)
	if request.GetBody != nil {
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil
		}
	}
	drain(response)
	return t.base.RoundTrip(again)
}

// isAPI reports whether a token may be sent to the URL.
func (t *transport) isAPI(to *url.URL) bool {
	return to.Scheme == t.api.Scheme && strings.EqualFold(to.Hostname(), t.api.Hostname()) && port(to) == port(t.api)
}

func port(of *url.URL) string {
	if given := of.Port(); given != "" {
		return given
	}
	return map[string]string{"https": "443", "http": "80"}[of.Scheme]
}

// authorized copies the request, which a RoundTripper must leave as it is, and gives the copy the token.
func authorized(request *http.Request, with token) *http.Request {
	copied := request.Clone(request.Context())
	copied.Header.Set("Authorization", "Bearer "+with.access)
	return copied
}

func repeatable(request *http.Request) bool {
	return request.Body == nil || request.Body == http.NoBody || request.GetBody != nil
}

// discard closes the body of a request that is not sent, as a RoundTripper must.
func discard(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// drain reads the rest of a short answer, so that its connection can be used again.
func drain(response *http.Response) {
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, response.Body, most)
	_ = response.Body.Close()
}
