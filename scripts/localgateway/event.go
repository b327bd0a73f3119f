package localgateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Limits of a regional REST API in bytes. Source: API Gateway developer guide, "Quotas for configuring and running a
// REST API in API Gateway".
const (
	maxHeader = 10240 // request line and header fields
	maxBody   = 10 << 20
)

// proxyEvent is the input of a Lambda proxy integration, version 1, with the members that AWS sends, nulls included.
// Source: API Gateway developer guide, "Input format of a Lambda function for proxy integration".
type proxyEvent struct {
	Resource                        string              `json:"resource"`
	Path                            string              `json:"path"`
	HTTPMethod                      string              `json:"httpMethod"`
	Headers                         map[string]string   `json:"headers"`
	MultiValueHeaders               map[string][]string `json:"multiValueHeaders"`
	QueryStringParameters           map[string]string   `json:"queryStringParameters"`
	MultiValueQueryStringParameters map[string][]string `json:"multiValueQueryStringParameters"`
	PathParameters                  map[string]string   `json:"pathParameters"`
	StageVariables                  map[string]string   `json:"stageVariables"`
	RequestContext                  requestContext      `json:"requestContext"`
	Body                            *string             `json:"body"`
	IsBase64Encoded                 bool                `json:"isBase64Encoded"`
}

type requestContext struct {
	ResourceID        string   `json:"resourceId"`
	ResourcePath      string   `json:"resourcePath"`
	HTTPMethod        string   `json:"httpMethod"`
	ExtendedRequestID string   `json:"extendedRequestId"`
	RequestTime       string   `json:"requestTime"`
	Path              string   `json:"path"`
	AccountID         string   `json:"accountId"`
	Protocol          string   `json:"protocol"`
	Stage             string   `json:"stage"`
	DomainPrefix      string   `json:"domainPrefix"`
	RequestTimeEpoch  int64    `json:"requestTimeEpoch"`
	RequestID         string   `json:"requestId"`
	Identity          identity `json:"identity"`
	DomainName        string   `json:"domainName"`
	DeploymentID      string   `json:"deploymentId"`
	APIID             string   `json:"apiId"`

	// Authorizer has the caller: what the authorizer put into its context, as texts, its principalId, and how many
	// milliseconds it took as integrationLatency.
	Authorizer map[string]any `json:"authorizer,omitempty"`
}

// identity has nulls for everything that only IAM, Cognito or client certificates would fill.
type identity struct {
	CognitoIdentityPoolID         *string `json:"cognitoIdentityPoolId"`
	AccountID                     *string `json:"accountId"`
	CognitoIdentityID             *string `json:"cognitoIdentityId"`
	Caller                        *string `json:"caller"`
	SourceIP                      string  `json:"sourceIp"`
	PrincipalOrgID                *string `json:"principalOrgId"`
	AccessKey                     *string `json:"accessKey"`
	CognitoAuthenticationType     *string `json:"cognitoAuthenticationType"`
	CognitoAuthenticationProvider *string `json:"cognitoAuthenticationProvider"`
	UserARN                       *string `json:"userArn"`
	UserAgent                     string  `json:"userAgent"`
	User                          *string `json:"user"`
}

// stage and apiID stand where a deployed API has its own.
const (
	stage     = "local"
	apiID     = "localapi00"
	accountID = "000000000000"
)

// facts returns the event of a request without its body.
func (e *exchange) facts(resource string) proxyEvent {
	r := e.request
	host, _, _ := strings.Cut(r.Host, ":")
	event := proxyEvent{
		Resource:          resource,
		Path:              r.URL.EscapedPath(),
		HTTPMethod:        method(r),
		MultiValueHeaders: e.header(),
		RequestContext: requestContext{
			ResourceID: "mcp000", ResourcePath: resource, HTTPMethod: method(r), ExtendedRequestID: extendedID(e.id),
			RequestTime: e.begun.UTC().Format("02/Jan/2006:15:04:05 -0700"), Path: "/" + stage + r.URL.EscapedPath(),
			AccountID: accountID, Protocol: r.Proto, Stage: stage, DomainPrefix: apiID,
			RequestTimeEpoch: e.begun.UnixMilli(), RequestID: e.id, DomainName: host, DeploymentID: "local0", APIID: apiID,
			Identity: identity{SourceIP: sourceIP(r), UserAgent: r.UserAgent()},
		},
	}
	event.Headers = last(event.MultiValueHeaders)
	if query := r.URL.Query(); len(query) > 0 {
		event.MultiValueQueryStringParameters = query
		event.QueryStringParameters = last(query)
	}
	return event
}

// method is that of the request line, unless the client overrides it, as API Gateway lets it.
// Source: API Gateway developer guide, "Amazon API Gateway important notes".
func method(r *http.Request) string {
	if override := r.Header.Get("X-Http-Method-Override"); override != "" {
		return override
	}
	return r.Method
}

// tokenCharacters are those of a method. Source: RFC 9110, sections 9.1 and 5.6.2.
const tokenCharacters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// isToken reports whether a text can be a method. net/http has seen to that of the request line, but not to one that
// overrides it.
func isToken(method string) bool {
	return !strings.ContainsFunc(method, func(c rune) bool { return !strings.ContainsRune(tokenCharacters, c) })
}

// notForLambda are the request fields that a Lambda integration does not get.
// Sources: API Gateway developer guide, "Amazon API Gateway important notes"; the events recorded on AWS in
// github.com/localstack/localstack, tests/aws/services/apigateway.
var notForLambda = []string{
	"Connection", "Content-Length", "Content-Md5", "Expect", "Max-Forwards", "Proxy-Authenticate", "Server", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade", "Www-Authenticate",
}

// header returns the fields that the function sees.
func (e *exchange) header() http.Header {
	r := e.request
	header := maps.Clone(r.Header)
	for _, name := range notForLambda {
		delete(header, name)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	header.Set("Host", r.Host)
	header.Set("X-Amzn-Trace-Id", e.trace)
	header.Set("X-Forwarded-For", strings.Join(append(r.Header["X-Forwarded-For"], sourceIP(r)), ", "))
	header.Set("X-Forwarded-Port", port(r, scheme))
	header.Set("X-Forwarded-Proto", scheme)
	return header
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func port(r *http.Request, scheme string) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[scheme]
}

// last reduces every name to its last value, which is the one that AWS shows.
func last[M ~map[string][]string](all M) map[string]string {
	single := make(map[string]string, len(all))
	for name, values := range all {
		if len(values) > 0 {
			single[name] = values[len(values)-1]
		}
	}
	return single
}

// readBody completes the event with the body; a refusal says which limit the request is over. API Gateway has read the
// whole request before it asks anybody.
func readBody(r *http.Request, event *proxyEvent) *refusal {
	if headerSize(r) > maxHeader {
		return &headerTooLong
	}
	if !isToken(event.HTTPMethod) {
		return &badRequest
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		// Some of the rest is read, so that the client gets to see the answer instead of a broken connection.
		_, _ = io.CopyN(io.Discard, r.Body, maxBody)
		return &bodyTooLong
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &bodyTooSlow
	case err != nil:
		return &badRequest
	case len(body) > 0:
		// A body that is not UTF-8 travels in Base64, so that the dispatcher's strict reader sees the bytes and refuses
		// them. What API Gateway does with one where no binary media types are set is not documented.
		text := string(body)
		if !utf8.ValidString(text) {
			text, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
		}
		event.Body = &text
	}
	return nil
}

func encode(event any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		// Strings, numbers and maps of them can always be encoded.
		panic("localgateway: encoding an event: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// headerSize counts what the limit counts: the request line, and names, values and line ends of the fields.
func headerSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  \r\n") + len("Host: \r\n") + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
	}
	return size
}

// traceID returns the X-Ray header of a request: a new one, or the client's with the gateway's own segment before it.
func traceID(client string, now time.Time) string {
	id := uuid.New()
	own := fmt.Sprintf("1-%08x-%x", now.Unix(), id[:12])
	if client == "" {
		return "Root=" + own
	}
	return "Self=" + own + ";" + client
}

// extendedID is the second id that API Gateway gives a request, as a text that looks like one.
func extendedID(requestID string) string {
	id, err := uuid.Parse(requestID)
	if err != nil {
		return url.QueryEscape(requestID)
	}
	return base64.URLEncoding.EncodeToString(id[:11])
}
