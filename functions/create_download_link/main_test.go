package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"patchbay/shared/contract"
	"patchbay/shared/mcp"
	"patchbay/shared/secret"
	"patchbay/shared/tool/tooltest"
)

const key = "0123456789abcdef0123456789abcdef"

// now is the time of every call.
var now = time.Date(2026, time.August, 1, 12, 0, 0, 750_000_000, time.UTC)

// keys is a source of secrets with one key; empty for none.
type keys string

func (k keys) Get(_ context.Context, name string) (secret.Value, error) {
	if k == "" || name != secretName {
		return secret.Value{}, secret.ErrNotFound
	}
	return secret.NewValue(string(k)), nil
}

func handler(t *testing.T, key keys) func(context.Context, Input) (Output, error) {
	t.Helper()
	signer, err := newSigner("https://files.example.com/get/", key)
	if err != nil {
		t.Fatal(err)
	}
	return create(loadFiles(), signer, func() time.Time { return now })
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, handler(t, key))
}

func TestCreate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, expiresAt, want string }{
		"one hour":      {"f_abc123", "", "2026-08-01T13:00:00Z"},
		"a second":      {"f_abc123", "2026-08-01T12:00:01Z", "2026-08-01T12:00:01Z"},
		"a zone":        {"f_q4w8e1", "2026-08-02T00:30:00.9+02:00", "2026-08-01T22:30:00Z"},
		"small letters": {"f_q4w8e1", "2026-08-02t00:30:00z", "2026-08-02T00:30:00Z"},
		"30 days":       {"f_abc123", "2026-08-31T12:00:00Z", "2026-08-31T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := tooltest.Call(t, handler(t, key+"\n"), Input{test.file, test.expiresAt})
			got := tooltest.Structured[Output](t, result)
			if expires := got.ExpiresAt.Format(time.RFC3339Nano); expires != test.want {
				t.Errorf("expires at %s, want %s", expires, test.want)
			}
			if until := string(result.Meta[mcp.MetaReplayUntil]); until != `"`+test.want+`"` {
				t.Errorf("may be replayed until %s, want %s", until, test.want)
			}
			verify(t, got, test.file)
		})
	}
}

// verify checks a link as the download server does.
func verify(t *testing.T, got Output, fileID string) {
	t.Helper()
	at, err := url.Parse(got.URL)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/get/" + fileID + "/" + loadFiles()[fileID]; at.Host != "files.example.com" || at.Path != want {
		t.Errorf("the link is to %s, want %s", at, want)
	}
	query := at.Query()
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("download-link-v1\n" + fileID + "\n" + query.Get("expires") + "\n" + got.LinkID + "\n"))
	sent, err := base64.RawURLEncoding.DecodeString(query.Get("signature"))
	if err != nil || !hmac.Equal(sent, mac.Sum(nil)) || query.Get("link") != got.LinkID {
		t.Errorf("%s is not signed for link %s, error %v", at, got.LinkID, err)
	}
}

func TestEveryExecutionCreatesALink(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		got := tooltest.Structured[Output](t, tooltest.Call(t, handler(t, key), `{"fileId":"f_abc123"}`))
		if seen[got.LinkID] {
			t.Errorf("link %s is given twice", got.LinkID)
		}
		seen[got.LinkID] = true
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key        keys
		arguments  Input
		code, part string
	}{
		"unknown file":     {key, Input{FileID: "f_nope"}, "unknown_file", `"f_nope"`},
		"no id":            {key, Input{FileID: "annual-report-2025.pdf"}, "unknown_file", "f_abc123"},
		"past":             {key, Input{"f_abc123", "2026-08-01T11:59:59Z"}, "expiry_in_past", "2026-08-01T12:00:00Z now"},
		"this very second": {key, Input{"f_abc123", "2026-08-01T12:00:00.9Z"}, "expiry_in_past", "later time"},
		"past in its zone": {key, Input{"f_abc123", "2026-08-01T13:59:59+02:00"}, "expiry_in_past", ""},
		"31 days":          {key, Input{"f_abc123", "2026-09-01T12:00:00Z"}, "expiry_too_far", "until 2026-08-31T12:00:00Z"},
		"a leap second":    {key, Input{"f_abc123", "2026-12-31T23:59:60Z"}, "expiry_malformed", "2026-08-01T13:00:00Z"},
		"no key":           {"", Input{FileID: "f_abc123"}, "signing_key_unavailable", secretName},
		"a short key":      {keys(key[1:] + " \n"), Input{FileID: "f_abc123"}, "signing_key_unavailable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tooltest.Call(t, handler(t, test.key), test.arguments)
			if got.Code != test.code || !strings.Contains(got.Text(), test.part) || got.Meta[mcp.MetaReplayUntil] != nil {
				t.Errorf("code %q, text %q; want %s with %q", got.Code, got.Text(), test.code, test.part)
			}
		})
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, arguments := range map[string]string{
		"fileId":    `{}`,
		"file_id":   `{"fileId":"f_abc123","file_id":"f_abc123"}`,
		"date-time": `{"fileId":"f_abc123","expiresAt":"tomorrow"}`,
		"expiresAt": `{"fileId":"f_abc123","expiresAt":"2026-08-01T12:00:00"}`,
	} {
		got := tooltest.Call(t, handler(t, key), arguments)
		if !got.Refused || !strings.Contains(got.Text(), want) {
			t.Errorf("%s: refused %v, text %q; want one with %q", arguments, got.Refused, got.Text(), want)
		}
	}
}

// A link that outlived its record would be created a second time while it is valid.
func TestRecordsOutliveLinks(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("tool.json")
	if err != nil {
		t.Fatal(err)
	}
	definition, problems := contract.Parse("tool.json", data)
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	if ttl := definition.Contract.Idempotency.TTL.Duration(); ttl < maxLife+time.Hour {
		t.Errorf("records end after %v, links after %v", ttl, maxLife)
	}
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"", ":", "files.example.com", "ftp://a.example", "https://", "https://u:p@a.example", "https://a.example?x=1",
	} {
		if _, err := newSigner(base, keys(key)); err == nil {
			t.Errorf("%q was taken for the download server's URL", base)
		}
	}
}

func TestData(t *testing.T) {
	t.Parallel()
	files := loadFiles()
	if files["f_abc123"] == "" {
		t.Error("there is no f_abc123, which the description names")
	}
	for id, name := range files {
		if !strings.HasPrefix(id, "f_") || name == "" || strings.ContainsAny(id+name, "\n/ ") {
			t.Errorf("%q, %q is no file", id, name)
		}
	}
}
