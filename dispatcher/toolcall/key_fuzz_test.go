package toolcall

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"patchbay/shared/jsonrpc"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
)

// keyIn is a call with an idempotency key in up to three places; nil leaves one out.
func keyIn(header []string, meta, argument *string) *call {
	c := &call{Request: &Request{Header: http.Header{headerIdempotencyKey: header}}, arguments: json.RawMessage(`{}`)}
	if meta != nil {
		c.Params.Meta = mcp.Meta{HasIdempotencyKey: true, IdempotencyKey: *meta}
	}
	if argument != nil {
		encoded, err := json.Marshal(map[string]string{"key": *argument})
		if err != nil {
			panic(err)
		}
		c.arguments = encoded
	}
	return c
}

// FuzzCallersKey holds that a key which is taken is one that every place named, and that anything else is the client's
// fault and no key at all.
func FuzzCallersKey(f *testing.F) {
	f.Add("k", "k", true, "k", true)
	f.Add(`"k"`, "k", true, "", false)
	f.Add(`"a\"b"`, `a"b`, true, "", false)
	f.Add(" \t", "", true, "", false)
	f.Add(`"`, `"`, true, `"`, true)
	f.Add(`"\`, "\x00", true, "\u0085", true)
	f.Add(strings.Repeat("é", 255), strings.Repeat("é", 255), true, "", false)
	f.Add(strings.Repeat("k", 256), "", false, "", false)
	f.Add("\xff", "", false, "\xff", true)
	f.Fuzz(func(t *testing.T, header, meta string, hasMeta bool, argument string, hasArgument bool) {
		if !utf8.ValidString(argument) {
			return // No JSON holds it.
		}
		inMeta, inArgument := &meta, &argument
		if !hasMeta {
			inMeta = nil
		}
		if !hasArgument {
			inArgument = nil
		}
		key, err := keyIn([]string{header}, inMeta, inArgument).callersKey("key")
		if err != nil {
			var invalid *jsonrpc.Error
			if key != "" || !errors.As(err, &invalid) || invalid.Code != jsonrpc.CodeInvalidParams {
				t.Fatalf("key %q with error %v", key, err)
			}
			return
		}
		if problem := ledger.CheckKey(key); problem != nil {
			t.Fatalf("the key %q was taken: %v", key, problem)
		}
		if hasMeta && key != meta || hasArgument && key != argument {
			t.Fatalf("the key is %q, _meta says %q, the argument %q", key, meta, argument)
		}
		// The same key in every form and place is the same key, and never another one beside it.
		for _, spelled := range []string{header, " " + header + "\t", quoted(key)} {
			again, err := keyIn([]string{spelled, header}, &key, &key).callersKey("key")
			if again != key || err != nil {
				t.Fatalf("%q beside %q: key %q, %v; want %q", spelled, header, again, err, key)
			}
		}
		other := key + "'"
		if _, err := keyIn([]string{header}, &other, nil).callersKey(""); err == nil {
			t.Fatalf("%q beside %q is no conflict", header, other)
		}
	})
}

// quoted writes a key as a string of a structured field. Source: RFC 9651, section 3.3.3.
func quoted(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// FuzzUnquoted holds that every key can be sent in quotes.
func FuzzUnquoted(f *testing.F) {
	for _, key := range []string{"", "k", `"`, `\`, `\"`, `"k"`, `a"b\c`, "é"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if got := unquoted(quoted(key)); got != key {
			t.Fatalf("%q came back as %q", key, got)
		}
		if got := unquoted(key); len(got) > len(key) {
			t.Fatalf("%q grew to %q", key, got)
		}
	})
}
