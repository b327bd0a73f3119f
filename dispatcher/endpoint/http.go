package endpoint

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"patchbay/shared/jsonrpc"
)

// maxBody is the largest request body that is read, in bytes: what API Gateway lets through.
const maxBody = 10 << 20

// checkHTTP answers what the body does not matter for: what is wrong, and what a browser asks beforehand.
// Source: basic/transports/streamable-http#security-endpoint, #sending-messages, #earlier-streamable-http-revisions.
func (ex *exchange) checkHTTP() bool {
	r := ex.http
	if !ex.originAllowed(r.Header.Values("Origin")) {
		ex.refuse(http.StatusForbidden, reasonOrigin, "Origin not allowed")
		return false
	}
	ex.allowOrigin()
	if r.Method == http.MethodOptions {
		ex.options(r.Context())
		return false
	}
	if r.Method != http.MethodPost {
		ex.answer.header().Set("Allow", allowedMethods)
		ex.refuse(http.StatusMethodNotAllowed, reasonMethod, "Method not allowed: the MCP endpoint takes POST only")
		return false
	}
	if !isJSON(r.Header.Values("Content-Type")) {
		ex.refuse(http.StatusUnsupportedMediaType, reasonMediaType, "Content-Type must be application/json in UTF-8")
		return false
	}
	accepts := parseAccept(r.Header.Values("Accept"))
	if !accepts.json && !accepts.stream {
		ex.refuse(http.StatusNotAcceptable, reasonAccept, "Accept must list application/json and text/event-stream")
		return false
	}
	ex.answer.accepts = accepts
	return true
}

// refuse answers a request that is no message yet: an HTTP status, and an error without an id for whoever reads it.
func (ex *exchange) refuse(status int, reason, text string) {
	ex.reason = reason
	ex.failure = jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s", text)
	ex.answer.fail(status, jsonrpc.ID{}, ex.failure)
}

func (ex *exchange) readBody() ([]byte, bool) {
	limited := http.MaxBytesReader(nil, ex.http.Body, maxBody)
	body, err := readAll(limited, ex.http.ContentLength)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		ex.refuse(http.StatusRequestEntityTooLarge, reasonTooLarge, "The body is larger than 10 MB")
		return nil, false
	}
	if err != nil {
		ex.refuse(http.StatusBadRequest, reasonCut, "The body ended early")
		return nil, false
	}
	return body, true
}

// readAll reads into one buffer of the declared length, where one is declared.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length <= 0 || length > maxBody {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	n, err := io.ReadFull(r, body)
	if err != nil {
		return nil, err
	}
	return body[:n], nil
}

// originAllowed keeps web pages of other sites out (DNS rebinding). Several or malformed origins are never allowed.
func (ex *exchange) originAllowed(values []string) bool {
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	return ex.origins[values[0]] || (ex.config.LoopbackOrigins && isLoopbackOrigin(values[0]))
}

// isLoopbackOrigin reports whether origin is scheme://host[:port] and nothing more, with a host of this machine.
func isLoopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Scheme+"://"+u.Host != origin {
		return false
	}
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// isJSON reports whether the one Content-Type is application/json, in UTF-8 if a charset is named.
func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	mediaType, params, err := mime.ParseMediaType(values[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

// accepted is which of the two answers a client reads.
type accepted struct{ json, stream bool }

// parseAccept reads Accept. A client that sends none reads anything (RFC 9110, section 12.5.1). A media range counts
// when its weight is not zero; the most specific range decides.
func parseAccept(values []string) accepted {
	if len(values) == 0 {
		return accepted{json: true, stream: true}
	}
	if len(values) == 1 && values[0] == "application/json, text/event-stream" {
		return accepted{json: true, stream: true}
	}
	ranges := map[string]bool{}
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			mediaRange, params, _ := strings.Cut(part, ";")
			ranges[strings.ToLower(strings.TrimSpace(mediaRange))] = hasWeight(params)
		}
	}
	return accepted{json: accepts(ranges, "application/json"), stream: accepts(ranges, "text/event-stream")}
}

func accepts(ranges map[string]bool, mediaType string) bool {
	family, _, _ := strings.Cut(mediaType, "/")
	for _, candidate := range []string{mediaType, family + "/*", "*/*"} {
		if wanted, named := ranges[candidate]; named {
			return wanted
		}
	}
	return false
}

// hasWeight reports whether the parameters of a media range leave it a weight above zero.
func hasWeight(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err != nil || q > 0
	}
	return true
}
