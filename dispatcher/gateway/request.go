package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
)

// request makes the http.Request that a server would have made of the same bytes. RemoteAddr is the caller's address
// without a port, which no front door tells.
func (e *event) request(ctx context.Context) (*http.Request, error) {
	target, err := e.target()
	if err != nil {
		return nil, err
	}
	r := &http.Request{
		Method:        e.method,
		URL:           target,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        e.header,
		Body:          http.NoBody,
		ContentLength: int64(len(e.body)),
		Host:          e.host(),
		RemoteAddr:    e.facts.SourceIP,
		RequestURI:    target.RequestURI(),
	}
	if len(e.body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	return r.WithContext(newContext(ctx, e.facts)), nil
}

func (e *event) target() (*url.URL, error) {
	path, err := url.PathUnescape(e.path)
	if err != nil {
		return nil, fieldErrorf("path", "%v", err)
	}
	u := &url.URL{Path: path, RawQuery: e.query}
	if path != e.path {
		u.RawPath = e.path
	}
	return u, nil
}

// host takes the Host field out of the header, as net/http does.
func (e *event) host() string {
	host := e.header.Get("Host")
	delete(e.header, "Host")
	if host == "" {
		return e.domain
	}
	return host
}
