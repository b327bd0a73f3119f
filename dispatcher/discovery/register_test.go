package discovery

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const registering = `{"issuers":[{"issuer":"https://login.example.com"}],"front":{"clientId":"public-client",
	"redirectUris":["https://app.example/cb","http://127.0.0.1/callback","http://localhost:6274/oauth/callback",
	"com.example.app:/done"]}}`

func TestRegister(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, want string }{
		"least": {`{"redirect_uris":["https://app.example/cb"]}`, `{"client_id":"public-client",
			"redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"none",
			"grant_types":["authorization_code"],"response_types":["code"]}`},
		"like the official clients": {`{"redirect_uris":["http://127.0.0.1:49152/callback"],"client_name":"Inspector",
			"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"scope":"mail:read",
			"token_endpoint_auth_method":"none","application_type":"native","client_uri":"https://inspector.example"}`,
			`{"client_id":"public-client","redirect_uris":["http://127.0.0.1:49152/callback"],"client_name":"Inspector",
			"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],
			"response_types":["code"],"scope":"mail:read","application_type":"native",
			"client_uri":"https://inspector.example"}`},
		// Whatever the client wished for and cannot have is replaced, or left out.
		"with wishes": {`{"redirect_uris":["https://app.example/cb","com.example.app:/done"],"contacts":["x@example.com"],
			"token_endpoint_auth_method":"client_secret_post","client_id":"mine","client_secret":"s","jwks":{"keys":[]},
			"grant_types":["implicit","refresh_token","authorization_code"],"response_types":["token","code"],
			"software_statement":"ey","require_pushed_authorization_requests":true,"client_name":null,
			"registration_access_token":"t"}`,
			`{"client_id":"public-client","redirect_uris":["https://app.example/cb","com.example.app:/done"],
			"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],
			"response_types":["code"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registering)
			w := s.ask(t, "POST", "/oauth/register", test.body, "Content-Type", "application/json; charset=utf-8")
			if w.Code != http.StatusCreated || w.Header().Get("Cache-Control") != "no-store" ||
				w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("got %d %v", w.Code, w.Header())
			}
			sameJSON(t, test.want, w.Body.String())
		})
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	const uris = `"redirect_uris":["https://app.example/cb"]`
	for name, test := range map[string]struct {
		body, code, says string
		status           int
	}{
		"no redirect URI":      {`{}`, "invalid_redirect_uri", "0 entries", 400},
		"an empty list":        {`{"redirect_uris":[]}`, "invalid_redirect_uri", "0 entries", 400},
		"a null":               {`{"redirect_uris":null}`, "invalid_redirect_uri", "0 entries", 400},
		"a null in the list":   {`{"redirect_uris":[null]}`, "invalid_redirect_uri", "not a list of texts", 400},
		"a text":               {`{"redirect_uris":"https://app.example/cb"}`, "invalid_redirect_uri", "not a list", 400},
		"one that is not ours": {`{"redirect_uris":["https://evil.example/cb"]}`, "invalid_redirect_uri", "[0]", 400},
		"one among ours": {`{"redirect_uris":["https://app.example/cb","https://evil.example/cb"]}`,
			"invalid_redirect_uri", "redirect_uris[1] is not one", 400},
		"too many": {`{"redirect_uris":[` + strings.Repeat(`"https://app.example/cb",`, 40) + `"https://app.example/cb"]}`,
			"invalid_redirect_uri", "41 entries", 400},
		"in another case":       {`{"Redirect_URIs":["https://app.example/cb"]}`, "invalid_redirect_uri", "0 entries", 400},
		"only implicit":         {`{` + uris + `,"grant_types":["implicit"]}`, "invalid_client_metadata", "grant", 400},
		"grant types as a text": {`{` + uris + `,"grant_types":"code"}`, "invalid_client_metadata", "grant", 400},
		"only tokens":           {`{` + uris + `,"response_types":["token"]}`, "invalid_client_metadata", "response", 400},
		"a number for a name":   {`{` + uris + `,"client_name":7}`, "invalid_client_metadata", "client_name", 400},
		"a name without an end": {`{` + uris + `,"client_name":"` + strings.Repeat("x", 2049) + `"}`,
			"invalid_client_metadata", "2048", 400},
		"a member twice":         {`{` + uris + `,` + uris + `}`, "invalid_client_metadata", "once", 400},
		"not JSON":               {`redirect_uris=x`, "invalid_client_metadata", "not JSON", 400},
		"nothing":                {``, "invalid_client_metadata", "not JSON", 400},
		"a list":                 {`[]`, "invalid_client_metadata", "object", 400},
		"larger than any client": {`{"x":"` + strings.Repeat("x", 64<<10) + `"}`, "invalid_client_metadata", "65536", 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registering)
			w := s.ask(t, "POST", "/oauth/register", test.body, "Content-Type", "application/json")
			var got struct {
				Error       string
				Description string `json:"error_description"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != test.status || got.Error != test.code ||
				!strings.Contains(got.Description, test.says) {
				t.Errorf("got %d %s, want %d %s %q", w.Code, w.Body, test.status, test.code, test.says)
			}
			if test.code == "invalid_redirect_uri" && !strings.Contains(got.Description, "https://app.example/cb, ") {
				t.Errorf("does not say what is allowed: %s", got.Description)
			}
			// RFC 6749, section 5.2: what a description may have in it.
			if strings.ContainsAny(got.Description, "\"\\") || strings.Contains(w.Body.String(), "evil") {
				t.Errorf("repeats what was sent, or quotes: %s", w.Body)
			}
			if !strings.Contains(s.log.String(), `"reason":"registration_refused"`) ||
				!strings.Contains(s.counted.String(), "registration_refused") {
				t.Errorf("logged %s, counted %s", &s.log, &s.counted)
			}
		})
	}
	for _, mediaType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json, x/y"} {
		s := newServer(t, registering)
		if w := s.ask(t, "POST", "/oauth/register", `{`+uris+`}`, "Content-Type", mediaType); w.Code != 400 {
			t.Errorf("Content-Type %q: got %d %s", mediaType, w.Code, w.Body)
		}
	}
}

func TestRedirectAllowed(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"https://app.example/cb", "http://127.0.0.1/callback", "http://localhost:6274/oauth/callback", "http://[::1]/cb?a=1",
		"http://localhost", "com.example.app:/done", "https://localhost/cb",
	}
	for uri, want := range map[string]bool{
		"https://app.example/cb":                    true,
		"https://app.example/cb/":                   false,
		"https://app.example/cb?x":                  false,
		"https://app.example/cb#":                   false,
		"https://app.example:443/cb":                false,
		"https://APP.example/cb":                    false,
		"https://app.example/%63b":                  false,
		"https://app.example/x/../cb":               false,
		"https://app.example@evil.example/cb":       false,
		"http://app.example/cb":                     false,
		" https://app.example/cb":                   false,
		"http://127.0.0.1/callback":                 true,
		"http://127.0.0.1:1/callback":               true,
		"http://127.0.0.1:65535/callback":           true,
		"http://127.0.0.1:65536/callback":           false,
		"http://127.0.0.1:0/callback":               false,
		"http://127.0.0.1:080/callback":             false,
		"http://127.0.0.1:+80/callback":             false,
		"http://127.0.0.1:/callback":                false,
		"http://127.0.0.1:80/callback/x":            false,
		"http://127.0.0.1:80/x/callback":            false,
		"http://127.0.0.1:80@evil.example/callback": false,
		"http://127.0.0.1:80:80/callback":           false,
		"http://127.0.0.1.evil.example/callback":    false,
		"http://127.0.0.2:80/callback":              false,
		"http://localhost:80/callback":              false,
		"https://127.0.0.1:80/callback":             false,
		"HTTP://127.0.0.1:80/callback":              false,
		"http://localhost:6274/oauth/callback":      true,
		"http://localhost:6275/oauth/callback":      false,
		"http://localhost":                          true,
		"http://localhost:9":                        true,
		"http://localhost:9/":                       false,
		"http://LOCALHOST:9":                        false,
		"http://[::1]:9/cb?a=1":                     true,
		"http://[::1]:9/cb?a=2":                     false,
		"http://[0:0:0:0:0:0:0:1]:9/cb?a=1":         false,
		"https://localhost:9/cb":                    false,
		"com.example.app:/done":                     true,
		"com.example.app:80/done":                   false,
		"":                                          false,
	} {
		if got := redirectAllowed(allowed, uri); got != want {
			t.Errorf("%q: got %v, want %v", uri, got, want)
		}
	}
	if redirectAllowed(nil, "https://app.example/cb") {
		t.Error("allowed by an empty list")
	}
}

// An address that is let through is the allowed one in every part, as URLs are read, but for a loopback host's port.
func FuzzRedirectAllowed(f *testing.F) {
	for _, pair := range [][2]string{
		{"http://127.0.0.1/callback", "http://127.0.0.1:49152/callback"},
		{"http://localhost", "http://localhost:80@evil.example"},
		{"http://[::1]/cb?a=1", "http://[::1]:1/cb?a=1"},
		{"https://app.example/cb", "https://app.example:1/cb"},
		{"http://127.0.0.1", "http://127.0.0.1:80"},
		{"http://127.0.0.1?x", "http://127.0.0.1:80?x"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, entry, uri string) {
		if !redirectAllowed([]string{entry}, uri) || entry == uri {
			return
		}
		want, err := url.Parse(entry)
		if err != nil {
			t.Fatalf("%q allows %q, and is no URL: %v", entry, uri, err)
		}
		got, err := url.Parse(uri)
		if err != nil {
			t.Fatalf("%q allows %q, which is no URL: %v", entry, uri, err)
		}
		port := got.Port()
		got.Host = strings.TrimSuffix(got.Host, ":"+port)
		if port == "" || want.Port() != "" || got.String() != want.String() || got.User != nil || got.Scheme != "http" {
			t.Errorf("%q allows %q", entry, uri)
		}
		if host := got.Hostname(); !strings.EqualFold(host, "localhost") && !strings.HasPrefix(host, "127.") &&
			!strings.Contains(host, ":") {
			t.Errorf("%q allows %q, on no loopback address", entry, uri)
		}
	})
}
