package toolcall

import (
	"encoding/json"
	"strings"
	"testing"

	"patchbay/shared/jsonrpc"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`[{"type":"text","text":"plain \u00e9 \n\t\r ok"}]`:         ``,
		`[{"type":"text","text":"a\u001b[31mred","x":1.50}]`:        `[{"type":"text","text":"a[31mred","x":1.50}]`,
		`[{"type":"text","text":"\u0000\b\f\u007f\u009b2J<&>"}]`:    `[{"type":"text","text":"2J<&>"}]`,
		"[{\"type\":\"text\",\"text\":\"a\u009bb\x7f\"}]":           `[{"type":"text","text":"ab"}]`,
		`[{"type":"hologram","beams":"\u001b"},{"text":"\u0007!"}]`: `[{"type":"hologram","beams":"\u001b"},{"text":"!"}]`,
	} {
		if want == "" {
			want = content
		}
		got := sanitize(reply{jsonrpc.Member{Key: memberContent, Value: json.RawMessage(content)}})
		if string(got[0].Value) != want {
			t.Errorf("%s became %s, want %s", content, got[0].Value, want)
		}
	}
}

func TestLinksThatRun(t *testing.T) {
	t.Parallel()
	link := func(uri string) string { return `[{"type":"resource_link","name":"n","uri":"` + uri + `"}]` }
	for content, passes := range map[string]bool{
		link("https://example.com/x"):       true,
		link("file:///project/src/main.rs"): true,
		link("custom:thing"):                true,
		link("javascript:alert(1)"):         false,
		link(" JavaScript:alert(1)"):        false,
		link("java\\nscript:alert(1)"):      false,
		link("data:text/html,x"):            false,
		link("vbscript:x"):                  false,
		`[{"type":"resource_link","name":"n","uri":"a:b","icons":[{"src":"https://e.example/i.png"}]}]`: true,
		`[{"type":"resource_link","name":"n","uri":"a:b","icons":[{"src":"javascript:x"}]}]`:            false,
		`[{"type":"resource_link","name":"n","uri":"a:b","icons":[{"src":"file:///i.png"}]}]`:           false,
	} {
		if err := checkContent(json.RawMessage(content)); (err == nil) != passes {
			t.Errorf("%s: %v", content, err)
		}
	}
	long := json.RawMessage(link("javascript:" + strings.Repeat("x", 1000)))
	if err := checkContent(long); err == nil || len(err.Error()) > 200 {
		t.Errorf("the error is %v", err)
	}
}
