package evaluate

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// wanted reads what a file would want.
func wanted(t *testing.T, text string) any {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	r := &reader{saved: map[string]bool{}}
	value := r.readValue(document.Content[0])
	if err := checkMatcher(value); err != nil || len(r.faults) > 0 {
		t.Fatalf("%s: %v, %v", text, err, r.faults)
	}
	return value
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wanted, got string
		// says is empty where it matches.
		says string
	}{
		{"{a: 1}", `{"a": 1, "b": 2}`, ""},
		{"{a: 1}", `{"a": 1.0}`, ""},
		{"{a: 1}", `{"a": 10e-1}`, ""},
		{"{a: 1}", `{"a": 2}`, "it/a: 2, want 1"},
		{"{a: 1}", `{"a": "1"}`, `it/a: "1", want 1`},
		{"{a: '1'}", `{"a": 1}`, `it/a: 1, want "1"`},
		{"{a: 1}", `{"b": 1}`, "it/a: not there, want 1"},
		{"{a: 1}", `[1]`, "it: [1], want an object"},
		{"{a: 12345678901234567890}", `{"a": 12345678901234567891}`, "want 12345678901234567890"},
		{"{a: null}", `{"a": null}`, ""},
		{"{a: null}", `{"a": 0}`, "it/a: 0, want null"},
		{"{a: null}", `{}`, "it/a: not there, want null"},
		{"{a: true}", `{"a": true}`, ""},
		{"{a: true}", `{"a": "true"}`, `want true`},
		{"{a: x}", `{"a": {"x": 1}}`, `it/a: {"x":1}, want "x"`},
		{"{a/b: {c~d: 1}}", `{"a/b": {"c~d": 2}}`, "it/a~1b/c~0d: 2, want 1"},
		{"[1, {a: 2}]", `[1, {"a": 2, "b": 3}]`, ""},
		{"[1]", `[1, 2]`, "it: 2 elements, want 1"},
		{"[1, 3]", `[1, 2]`, "it/1: 2, want 3"},
		{"[]", `{}`, "it: {}, want a list"},
		{"2026-01-02", `"2026-01-02"`, ""},
		{"2026-01-02T03:04:05Z", `"2026-01-02T03:04:05Z"`, ""},
		{"{$type: integer, $minimum: 3}", "3", ""},
		{"{$type: integer, $minimum: 3}", "2", "2 is too small; allowed: at least 3"},
		{"{$pattern: '^bsk_'}", `"bsk_1"`, ""},
		{"{$pattern: '^bsk_'}", `"1"`, "^bsk_"},
		{"{$enum: [a, 1]}", `1`, ""},
		{"{$enum: [a, 1]}", `"b"`, `"b" is not allowed`},
		{"{$format: date-time}", `"yesterday"`, "date-time"},
		{"{$const: {a: 1}}", `{"a": 1}`, ""},
		{"{$const: {a: 1}}", `{"a": 1, "b": 2}`, "it: "},
		{"{$not: {const: 1}}", `2`, ""},
		{"{$not: {const: 1}}", `1`, "it: "},
		{"{a: {$absent: true}}", `{}`, ""},
		{"{a: {$absent: true}}", `{"a": null}`, "it/a: null, want nothing there"},
		{"{a: {$type: string}}", `{}`, "it/a: not there, want"},
		{"{$has: [{a: 1}, 3]}", `[3, {"a": 1, "b": 2}]`, ""},
		{"{$has: [{a: 1}, {a: 2}]}", `[{"a": 1}]`, `no element matches {"a":2}`},
		{"{$has: [1], $maxItems: 1}", `[1, 2]`, "it: "},
		{"{$has: [1]}", `1`, "it: 1, want a list"},
	} {
		got, err := decode(json.RawMessage(test.got))
		if err != nil {
			t.Fatal(err)
		}
		all := match("it", wanted(t, test.wanted), got)
		switch {
		case test.says == "" && len(all) > 0:
			t.Errorf("%s and %s: %v", test.wanted, test.got, all)
		case test.says != "" && (len(all) != 1 || !strings.Contains(all[0].String(), test.says)):
			t.Errorf("%s and %s: got %v, want %s", test.wanted, test.got, all, test.says)
		}
	}
}

func TestMatchText(t *testing.T) {
	t.Parallel()
	for wants, says := range map[string]string{
		"one": "", "[one, three]": "", "{$pattern: '^one'}": "", "two": `does not have "two"`,
		"[one, two]": `does not have "two"`, "{$maxLength: 3}": "text: ",
	} {
		all := matchText("text", wanted(t, wants), "one, three")
		if (says == "") != (len(all) == 0) || says != "" && !strings.Contains(all[0].String(), says) {
			t.Errorf("%s: got %v, want %s", wants, all, says)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	known := values{
		"n": json.Number("4"), "o": map[string]any{"a": "b"}, "s": "text", "now": "2026-01-02T03:04:05Z", "run": "abc",
	}
	for given, want := range map[string]string{
		"$(n)": "4", "$(o)": `{"a":"b"}`, "$(s)": `"text"`, "a $(s) and $(n)": `"a text and 4"`, "$(o)!": `"{\"a\":\"b\"}!"`,
		"$$(s)": `"$(s)"`, "$s": `"$s"`, "$(now+1h)": `"2026-01-02T04:04:05Z"`, "$(now-24h)": `"2026-01-01T03:04:05Z"`,
		"{x: [$(n), {y: $(run)}]}": `{"x":[4,{"y":"abc"}]}`,
	} {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(given), &document); err != nil {
			t.Fatal(err)
		}
		r := &reader{saved: map[string]bool{"n": true, "o": true, "s": true, "run": true, "now": true}}
		got, err := known.fill(r.readValue(document.Content[0]))
		if err != nil || asJSON(got) != want || len(r.faults) > 0 {
			t.Errorf("%s: got %s, %v, %v, want %s", given, asJSON(got), err, r.faults, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	value, err := decode(json.RawMessage(`{"a": [{"b/c": 1, "d~e": 2}], "": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/a/0/b~1c": "1", "/a/0/d~0e": "2", "/": "3", "/a/1": "", "/a/x": "", "/b": "", "/a/0/b~1c/d": "",
	} {
		got, there := resolve(value, pointer)
		if there != (want != "") || there && asJSON(got) != want {
			t.Errorf("%s: got %v, %v", pointer, got, there)
		}
	}
}
