package printable

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var seeds = []string{
	"", "plain text, Grüße, 例, 🙂", "\x1b[2K\x1b]0;title\a", "\u009b31m", "\u202eevil\u2069", "a\rb\nc\td", "\x7f\x00",
	"\xff\xfe", "\ufffd",
	`\u{1b}`, `\x{ff}`, "\\\x1b", `\\u{1b}`, `C:\users{x}`,
	`{"a":"\u009b\n"}`, "{\"a\":\n[1,\t\"\u009b\"]}",
	"\"quoted\"", "`quoted`", "two words", "\U000e0001", "\u00a0\u2028\u2029\ufeff",
}

func inert(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

var escapes = regexp.MustCompile(`\\([ux])\{([0-9a-f]+)\}`)

// read is what a line stands for.
func read(line string) string {
	return escapes.ReplaceAllStringFunc(line, func(escape string) string {
		parts := escapes.FindStringSubmatch(escape)
		code, err := strconv.ParseUint(parts[2], 16, 32)
		if err != nil {
			return "not an escape: " + escape
		}
		if parts[1] == "x" {
			return string([]byte{byte(code)})
		}
		return string(rune(code))
	})
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := Line(text)
		if !inert(line) || read(line) != text {
			t.Errorf("Line(%q) is %q, which stands for %q", text, line, read(line))
		}
		const indent = "    | "
		for i, part := range strings.Split(Lines(text, indent), "\n") {
			if !inert(part) || i > 0 && !strings.HasPrefix(part, indent) {
				t.Errorf("Lines(%q) has the line %q", text, part)
			}
		}
		word := Word(text)
		back, err := word, error(nil)
		if strings.HasPrefix(word, `"`) {
			back, err = strconv.Unquote(word)
		}
		if !inert(word) || back != text || err != nil {
			t.Errorf("Word(%q) is %s, which stands for %q, %v", text, word, back, err)
		}
		fuzzJSON(t, []byte(text))
	})
}

// fuzzJSON takes text as JSON where it is, and else as a string in it.
func fuzzJSON(t *testing.T, text []byte) {
	var want, got any
	if json.Unmarshal(text, &want) != nil {
		text, _ = json.Marshal(string(text))
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
	}
	shown := JSON(text)
	if err := json.Unmarshal(shown, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("JSON(%q) is %q: %v", text, shown, err)
	}
	if !inert(string(bytes.ReplaceAll(shown, []byte("\n"), nil))) {
		t.Errorf("JSON(%q) is %q, which acts on a terminal", text, shown)
	}
}

// What people read all day stays as it was.
func TestWhatPrintsStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Grüße, 例, 🙂", `{"msg":"a \"b\" \u009b"}`, `C:\users\x`, `^\d{3}$`} {
		if got := Line(text); got != text {
			t.Errorf("Line(%s) is %s", text, got)
		}
	}
	if got := Lines("goroutine 1\n\tmain.go\r\nend", "  "); got != "goroutine 1\n      main.go\n  end" {
		t.Errorf("Lines gives %q", got)
	}
	if got := Lines("File\r\u00a0\u00a0if x", ""); got != "File\n  if x" {
		t.Errorf("of a traceback, Lines gives %q", got)
	}
	if got := Word("0::sub:ada"); got != "0::sub:ada" {
		t.Errorf("Word gives %s", got)
	}
}
