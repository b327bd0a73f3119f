package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// The examples of basic/transports/streamable-http#value-encoding, both ways.
func TestHeaderValueEncoding(t *testing.T) {
	t.Parallel()
	for value, header := range map[string]string{
		"us-west1":             "us-west1",
		"Hello, 世界":            "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":             "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":         "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":   "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"":                     "",
		"a\tb":                 "a\tb",
		"=?BASE64?x?=":         "=?BASE64?x?=",
		"=?base64?only-prefix": "=?base64?only-prefix",
	} {
		if got := mcp.EncodeHeaderValue(value); got != header {
			t.Errorf("%q is encoded as %q, want %q", value, got, header)
		}
		got, err := mcp.DecodeHeaderValue(header)
		if err != nil || got != value {
			t.Errorf("%q is decoded as %q, %v; want %q", header, got, err, value)
		}
	}
}

func TestDecodeHeaderValue(t *testing.T) {
	t.Parallel()
	for header, test := range map[string]struct{ want, says string }{
		"  x  ":             {"x", ""},
		"\t=?base64?eA==?=": {"x", ""},
		"=?base64??=":       {"", ""},
		"=?base64?eA?=":     {"", "Base64"},
		"=?base64?eA=?=":    {"", "Base64"},
		"=?base64?eB==?=":   {"", "Base64"},
		"=?base64?!!?=":     {"", "Base64"},
		"=?base64?e A=?=":   {"", "Base64"},
		"=?base64?/w==?=":   {"", "UTF-8"},
		"caf\xe9":           {"", "visible ASCII"},
		"x\x00":             {"", "visible ASCII"},
		"x\x7f":             {"", "visible ASCII"},
	} {
		got, err := mcp.DecodeHeaderValue(header)
		if test.says == "" && (err != nil || got != test.want) {
			t.Errorf("%q is %q, %v; want %q", header, got, err, test.want)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%q is %q, %v; want an error about %s", header, got, err, test.says)
		}
	}
}

func FuzzHeaderValue(f *testing.F) {
	for _, seed := range []string{"", "a", " a", "世", "=?base64?eA==?=", "=?base64?", "a\r\nb", "\x00\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if decoded, err := mcp.DecodeHeaderValue(value); err == nil {
			if again, err := mcp.DecodeHeaderValue(mcp.EncodeHeaderValue(decoded)); err != nil || again != decoded {
				t.Errorf("%q decodes to %q, which comes back as %q, %v", value, decoded, again, err)
			}
		}
		header := mcp.EncodeHeaderValue(value)
		if strings.ContainsAny(header, "\r\n\x00") {
			t.Errorf("%q is encoded as %q, which splits a header", value, header)
		}
	})
}

func TestParseParams(t *testing.T) {
	t.Parallel()
	got, err := mcp.ParseParams(json.RawMessage(`{"name":"t","Name":"u","arguments":{"a":1},"cursor":"","extra":[1],
		"inputResponses":{"k":{}},"requestState":"s","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},
		"io.modelcontextprotocol/clientCapabilities":{},"progressToken":0,"traceparent":"00-x","tracestate":7,
		"other":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Params{
		Name: "t", HasName: true, Arguments: json.RawMessage(`{"a":1}`), HasCursor: true,
		InputResponses: json.RawMessage(`{"k":{}}`), RequestState: "s", HasState: true,
		Meta: mcp.Meta{
			ProtocolVersion: "2026-07-28", HasVersion: true, ClientInfo: json.RawMessage(`{"name":"c"}`),
			ClientCapabilities: json.RawMessage(`{}`), ProgressToken: json.RawMessage(`0`), Traceparent: "00-x",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseParamsNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for params, says := range map[string]string{
		`{"name":5}`:                       "params.name must be a string",
		`{"name":null}`:                    "params.name must be a string",
		`{"arguments":[1]}`:                "params.arguments must be an object",
		`{"arguments":null}`:               "params.arguments must be an object",
		`{"cursor":1}`:                     "params.cursor must be a string",
		`{"inputResponses":"x"}`:           "params.inputResponses must be an object",
		`{"requestState":5}`:               "params.requestState must be a string",
		`{"_meta":7}`:                      "params._meta must be an object",
		`{"_meta":{"progressToken":1.5}}`:  "must be a string or an integer",
		`{"_meta":{"progressToken":null}}`: "must be a string or an integer",

		`{"_meta":{"progressToken":"` + strings.Repeat("x", 1100) + `"}}`: "longer than 1024 bytes",

		metaWith(mcp.MetaProtocolVersion, "1"):  "must be a string",
		metaWith(mcp.MetaClientInfo, `"x"`):     "must be an object",
		metaWith(mcp.MetaClientCapabilities, 1): "must be an object",
	} {
		_, err := mcp.ParseParams(json.RawMessage(params))
		if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want -32602 about %q", params, err, says)
		}
	}
}

func metaWith(key string, value any) string { return fmt.Sprintf(`{"_meta":{%q:%v}}`, key, value) }

// The era is told from _meta, so it is read even where something before it is wrong.
func TestParseParamsReadsPastAnError(t *testing.T) {
	t.Parallel()
	got, err := mcp.ParseParams(json.RawMessage(`{"name":5,"_meta":{"progressToken":{},
		"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`))
	if err == nil || !strings.Contains(err.Error(), "params.name") || !got.Meta.HasVersion {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		200: {mcp.UnknownTool("x"), mcp.InvalidCursor(), fmt.Errorf("listing: %w", mcp.InvalidCursor())},
		400: {mcp.HeaderMismatch("x"), mcp.UnsupportedVersion("x"), mcp.MissingCapability(nil), mcp.InvalidParams("x"),
			jsonrpc.Errorf(jsonrpc.CodeParseError, "x"), fmt.Errorf("reading: %w", mcp.HeaderMismatch("x"))},
		404: {jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "x")},
		500: {jsonrpc.Errorf(jsonrpc.CodeInternalError, "x"), errors.New("x")},
	} {
		for _, err := range errs {
			if got := mcp.Status(err); got != want {
				t.Errorf("%v has status %d, want %d", err, got, want)
			}
		}
	}
}

func TestContentMarshalsRequiredMembers(t *testing.T) {
	t.Parallel()
	for want, content := range map[string]mcp.Content{
		`{"type":"text","text":""}`:                         {Type: "text"},
		`{"type":"image","mimeType":"image/png","data":""}`: {Type: "image", MIMEType: "image/png"},
		`{"type":"audio","mimeType":"audio/wav","data":"AQI="}`: {
			Type: "audio", MIMEType: "audio/wav", Data: []byte{1, 2},
		},
		`{"type":"resource_link","uri":"file:///x","name":"x"}`: {Type: "resource_link", URI: "file:///x", Name: "x"},
		`{"type":"resource","resource":{"uri":"a:b","text":"hi"}}`: {
			Type: "resource", Resource: &mcp.ResourceContents{URI: "a:b", Text: "hi"},
		},
	} {
		got, err := json.Marshal(content)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	if got := mcp.UnknownTool(strings.Repeat("é", 10_000)).Error(); len(got) > 400 {
		t.Errorf("an error of %d bytes", len(got))
	}
}

// The list never names what the same answer refuses, or a client would send the same again.
func TestUnsupportedVersion(t *testing.T) {
	t.Parallel()
	for requested, test := range map[string]struct {
		supported []string
		says      string
	}{
		"2099-01-01":        {append(mcp.ModernVersions(), mcp.LegacyVersions()...), "Unsupported protocol version"},
		mcp.Version20251125: {mcp.ModernVersions(), "revision 2025-11-25 opens with initialize"},
		mcp.Version20241105: {mcp.ModernVersions(), "revision 2024-11-05 opens with initialize"},
	} {
		got := mcp.UnsupportedVersion(requested)
		want := map[string]any{"supported": test.supported, "requested": requested}
		if diff := cmp.Diff(want, got.Data); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", requested, diff)
		}
		if got.Code != mcp.CodeUnsupportedVersion || !strings.Contains(got.Message, test.says) {
			t.Errorf("%s: got %d %q", requested, got.Code, got.Message)
		}
	}
}
