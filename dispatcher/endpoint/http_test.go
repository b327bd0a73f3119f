package endpoint

import (
	"testing"
)

func TestParseAccept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []string
		want   accepted
	}{
		"both":                     {[]string{"application/json, text/event-stream"}, accepted{true, true}},
		"both in two fields":       {[]string{"application/json", "text/event-stream"}, accepted{true, true}},
		"none sent":                {nil, accepted{true, true}},
		"anything":                 {[]string{"*/*"}, accepted{true, true}},
		"upper case, spaces":       {[]string{" Application/JSON ;charset=utf-8 , TEXT/*"}, accepted{true, true}},
		"json only":                {[]string{"application/json"}, accepted{json: true}},
		"stream only":              {[]string{"text/event-stream"}, accepted{stream: true}},
		"neither":                  {[]string{"text/html"}, accepted{}},
		"empty":                    {[]string{""}, accepted{}},
		"json refused by weight":   {[]string{"application/json;q=0, text/event-stream"}, accepted{stream: true}},
		"the specific range wins":  {[]string{"*/*;q=0, application/json;q=0.1"}, accepted{json: true}},
		"a weight of nothing":      {[]string{"text/event-stream;q=0.000"}, accepted{}},
		"a weight that is no text": {[]string{"text/event-stream;q=x"}, accepted{stream: true}},
	} {
		if got := parseAccept(test.values); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestIsJSON(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"application/json":                      true,
		"Application/JSON":                      true,
		"application/json; charset=utf-8":       true,
		`application/json;charset="UTF-8"`:      true,
		"application/json; charset=iso-8859-1":  false,
		"application/json; charset":             false,
		"text/plain":                            false,
		"application/jsonp":                     false,
		"application/json, application/json":    false,
		"application/x-www-form-urlencoded":     false,
		"application/vnd.api+json":              false,
		"":                                      false,
		"application/json; version=1; other=\"": false,
	} {
		if got := isJSON([]string{value}); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if isJSON(nil) || isJSON([]string{"application/json", "application/json"}) {
		t.Error("no or two content types pass")
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	h := New(Config{Origins: []string{"https://app.example"}, LoopbackOrigins: true})
	ex := &exchange{Handler: h}
	for origin, want := range map[string]bool{
		"https://app.example":              true,
		"https://app.example:443":          false,
		"http://app.example":               false,
		"https://APP.example":              false,
		"https://app.example.evil.example": false,
		"http://localhost":                 true,
		"http://localhost:6274":            true,
		"https://127.0.0.1:1":              true,
		"http://127.9.9.9":                 true,
		"http://[::1]:8787":                true,
		"http://localhost.evil.example":    false,
		"http://localhost@evil.example":    false,
		"http://localhost/":                false,
		"http://localhost#x":               false,
		"http://128.0.0.1":                 false,
		"file://localhost":                 false,
		"null":                             false,
		"":                                 false,
		"*":                                false,
	} {
		if got := ex.originAllowed([]string{origin}); got != want {
			t.Errorf("%q: got %v, want %v", origin, got, want)
		}
	}
	if !ex.originAllowed(nil) {
		t.Error("a client that is no browser is refused")
	}
	if ex.originAllowed([]string{"http://localhost", "https://evil.example"}) {
		t.Error("two origins pass")
	}
	h.config.LoopbackOrigins = false
	if ex.originAllowed([]string{"http://localhost"}) {
		t.Error("loopback origins pass where they are not configured")
	}
}
