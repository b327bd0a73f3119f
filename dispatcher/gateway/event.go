package gateway

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// A door is the kind of front door that sent an event.
type door int

const (
	restAPI door = iota
	httpAPI
	functionURL
)

// event is the part of a gateway event that a request is made of.
type event struct {
	door    door
	version string // "", "1.0" or "2.0"
	domain  string
	stage   string

	method string
	path   string
	query  string
	header http.Header
	body   []byte
	facts  Facts
}

// fields are what the scanner meets before the whole event is known: a version 2 event names its method after its
// headers, and multiValueHeaders, which win, come after headers.
type fields struct {
	event
	single    string // the text of headers
	cookies   []string
	rawBody   string // as between its quotes
	plain     bool   // rawBody holds no escapes
	isBase64  bool
	http      endpoint // requestContext.http of version 2
	v1        endpoint // httpMethod, path, identity of version 1
	v1Query   url.Values
	v1Queries url.Values
	v2Query   string
}

// endpoint is what either version calls the request line and its sender.
type endpoint struct{ method, path, sourceIP string }

// parseEvent reads an event of any of the three front doors.
func parseEvent(raw []byte) (*event, error) {
	s := &scanner{data: string(raw), values: make([]string, 0, 32)}
	f := &fields{}
	if s.peek() != '{' {
		return nil, s.unexpected("an object")
	}
	if err := s.object(func(key string) error { return f.member(s, key) }); err != nil {
		return nil, err
	}
	if s.peek() != 0 || s.pos < len(raw) {
		return nil, s.unexpected("the end of the event")
	}
	if err := f.resolve(); err != nil {
		return nil, err
	}
	return &f.event, nil
}

func (f *fields) member(s *scanner, key string) (err error) {
	switch key {
	case "version":
		f.version, err = s.text()
	case "httpMethod":
		f.v1.method, err = s.text()
	case "path":
		f.v1.path, err = s.text()
	case "rawPath":
		f.http.path, err = s.text()
	case "rawQueryString":
		f.v2Query, err = s.text()
	case "queryStringParameters":
		f.v1Query, err = query(s, (*scanner).one)
	case "multiValueQueryStringParameters":
		f.v1Queries, err = query(s, (*scanner).many)
	case "headers":
		f.single, err = s.value()
	case "multiValueHeaders":
		f.header, err = header(s, (*scanner).many)
	case "cookies":
		f.cookies, err = s.many()
	case "requestContext":
		err = s.object(func(key string) error { return f.context(s, key) })
	case "body":
		if !s.null() {
			f.rawBody, f.plain, err = s.quoted()
		}
	case "isBase64Encoded":
		f.isBase64, err = s.flag()
	default:
		err = s.skip()
	}
	return err
}

func (f *fields) context(s *scanner, key string) (err error) {
	switch key {
	case "requestId":
		f.facts.RequestID, err = s.text()
	case "stage":
		f.stage, err = s.text()
	case "domainName":
		f.domain, err = s.text()
	case "identity":
		err = f.v1.read(s)
	case "http":
		err = f.http.read(s)
	case "requestTimeEpoch", "timeEpoch": // version 1, version 2
		f.facts.Received, err = s.milliseconds()
	case "authorizer":
		f.facts.Authorizer, err = authorizer(s)
	default:
		err = s.skip()
	}
	return err
}

// read takes what requestContext.identity (version 1) or requestContext.http (version 2) says; the two share no member
// but sourceIp.
func (e *endpoint) read(s *scanner) error {
	return s.object(func(key string) (err error) {
		switch key {
		case "method":
			e.method, err = s.text()
		case "sourceIp":
			e.sourceIP, err = s.text()
		default:
			err = s.skip()
		}
		return err
	})
}

// authorizer reads the context that a Lambda authorizer returned: the members themselves in version 1, those of
// "lambda" in version 2. Values that are objects or lists, such as a JWT authorizer's claims, are left out, and so are
// nulls; the map is there all the same, and says that an authorizer ran, so that one which named nobody never lets
// callers in as anonymous. "iam" says who may call the URL, which is no authorizer's word.
func authorizer(s *scanner) (map[string]string, error) {
	values := make(map[string]string, 8)
	onlyIAM, iam := true, false
	err := s.object(func(key string) error {
		if key == "iam" {
			iam = true
			return s.skip()
		}
		onlyIAM = false
		if key == "lambda" && s.peek() == '{' {
			return s.object(func(key string) error { return authorized(s, key, values) })
		}
		return authorized(s, key, values)
	})
	if iam && onlyIAM {
		return nil, err
	}
	return values, err
}

// authorized adds one member of an authorizer's context to values.
func authorized(s *scanner, key string, values map[string]string) error {
	if s.null() {
		return nil
	}
	text, ok, err := s.scalar()
	if ok {
		values[key] = text
	}
	return err
}

// one reads the single value of a name as a list.
func (s *scanner) one() ([]string, error) {
	value, err := s.text()
	return []string{value}, err
}

func (s *scanner) many() ([]string, error) {
	start := len(s.values)
	err := s.list(func() error {
		value, err := s.text()
		s.values = append(s.values, value)
		return err
	})
	return s.values[start:len(s.values):len(s.values)], err
}

// header reads an object of header fields. Names that differ only in case become one field with all their values, so
// that a header which was sent twice is seen to be.
func header(s *scanner, values func(*scanner) ([]string, error)) (http.Header, error) {
	h := make(http.Header, 24)
	err := s.object(func(name string) error {
		list, err := values(s)
		if err != nil {
			return err
		}
		key := http.CanonicalHeaderKey(name)
		if h[key] == nil {
			h[key] = list
		} else {
			h[key] = append(h[key], list...)
		}
		return nil
	})
	return h, err
}

func query(s *scanner, values func(*scanner) ([]string, error)) (url.Values, error) {
	var q url.Values
	err := s.object(func(name string) error {
		list, err := values(s)
		if q == nil {
			q = make(url.Values)
		}
		q[name] = append(q[name], list...)
		return err
	})
	return q, err
}

// resolve decides what kind of event it was and settles what depends on that.
func (f *fields) resolve() error {
	if err := f.resolveDoor(); err != nil {
		return err
	}
	if len(f.header) == 0 && f.single != "" {
		h, err := header(&scanner{data: f.single}, (*scanner).one)
		if err != nil {
			return inside("headers", err)
		}
		f.header = h
	}
	if f.header == nil {
		f.header = make(http.Header)
	}
	if len(f.cookies) > 0 {
		f.header["Cookie"] = []string{strings.Join(f.cookies, "; ")}
	}
	f.trimStage()
	return f.decodeBody()
}

func (f *fields) resolveDoor() error {
	switch {
	case f.version == "2.0":
		f.door = httpAPI
		if strings.Contains(f.domain, ".lambda-url.") {
			f.door = functionURL
		}
		return f.take(f.http, f.v2Query, "requestContext.http.method", "rawPath")
	case f.version == "1.0":
		f.door = httpAPI
	case f.version != "":
		return fieldErrorf("version", `want "1.0", "2.0" or none, got %q`, f.version)
	}
	q := f.v1Queries
	if q == nil {
		q = f.v1Query
	}
	return f.take(f.v1, q.Encode(), "httpMethod", "path")
}

// take sets the request line; the names are those of the fields that it came from.
func (f *fields) take(from endpoint, query, methodName, pathName string) error {
	if !isToken(from.method) {
		return fieldErrorf(methodName, "want an HTTP method, got %q; neither a REST API (1), an HTTP API (1.0, 2.0) "+
			"nor a function URL (2.0) sends such an event", from.method)
	}
	if !strings.HasPrefix(from.path, "/") {
		return fieldErrorf(pathName, "want a path that begins with a slash, got %q", from.path)
	}
	f.method, f.path, f.query, f.facts.SourceIP = from.method, from.path, query, from.sourceIP
	return nil
}

// trimStage takes the stage off the path. Only an HTTP API puts it there, and only under its own domain; a custom
// domain's mapping may look like the stage and is not it.
func (f *fields) trimStage() {
	if f.door != httpAPI || f.stage == "" || f.stage == "$default" || !strings.Contains(f.domain, ".execute-api.") {
		return
	}
	rest, found := strings.CutPrefix(f.path, "/"+f.stage)
	if found && (rest == "" || rest[0] == '/') {
		f.path = "/" + strings.TrimPrefix(rest, "/")
	}
}

func (f *fields) decodeBody() (err error) {
	if f.plain {
		f.body = []byte(f.rawBody)
	} else if f.body, err = unescape(f.rawBody); err != nil {
		return inside("body", err)
	}
	if !f.isBase64 {
		return nil
	}
	if f.body, err = base64.StdEncoding.AppendDecode(nil, f.body); err != nil {
		return fieldErrorf("body", "isBase64Encoded is true, but %v", err)
	}
	return nil
}

// isToken reports whether s may be a method or a header name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for _, c := range []byte(s) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alphanumeric && strings.IndexByte(marks, c) < 0 {
			return false
		}
	}
	return s != ""
}
