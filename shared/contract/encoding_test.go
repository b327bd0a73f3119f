package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRefusesWhatReadersMisread(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, want string }{
		"empty":            {"", "f: the file is empty [json-syntax]"},
		"blank":            {" \r\n", "f: the file is empty [json-syntax]"},
		"cut":              {"{\n \"name\": \"a\"", "f:2:12: the JSON ends too early [json-syntax]"},
		"line comment":     {"{\n  // a name\n}", "f:2:3: JSON has no comments [json-syntax]"},
		"block comment":    {"/* a */ {}", "f:1:1: JSON has no comments [json-syntax]"},
		"shell comment":    {"{} # done", "f:1:4: JSON has no comments [json-syntax]"},
		"behind the value": {"{} {}", "f:1:4: invalid character '{' after top-level value [json-syntax]"},
		"column of letters": {"{\"é\": x}",
			"f:1:7: invalid character 'x' looking for beginning of value [json-syntax]"},
		"array":             {"[]", "f: this is an array; allowed: an object [wrong-type]"},
		"text":              {`"tool"`, `f: this is a string, "tool"; allowed: an object [wrong-type]`},
		"mark":              {"\ufeff{}", "f: the file begins with a byte order mark; allowed: " + utf8Hint},
		"UTF-16":            {"\xff\xfe{\x00}\x00", "f: the file is UTF-16; allowed: " + utf8Hint},
		"UTF-16, other end": {"\xfe\xff\x00{\x00}", "f: the file is UTF-16; allowed: " + utf8Hint},
		"Latin-1": {"{\n\"a\": \"\xe9\"}",
			"f:2:7: the byte 0xe9 is not UTF-8; allowed: " + utf8Hint},
		"high half":          {`{"a":"\ud83d"}`, "f:1:7: half of a surrogate pair; allowed: " + pairHint},
		"high half, letter":  {`{"a":"\uD83D\u0041"}`, "f:1:7: half of a surrogate pair; allowed: " + pairHint},
		"low half":           {`{"a":"\\\udE00"}`, "f:1:9: half of a surrogate pair; allowed: " + pairHint},
		"keys that are same": {`{"name":1,"n\u0061me":2}`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, problems := Parse("f", []byte(test.file))
			if tool != nil {
				t.Fatal("the file was accepted")
			}
			if test.want == "" {
				if !strings.Contains(problems.Error(), "[duplicate-key]") {
					t.Errorf("no duplicate key was found:\n%s", problems.Error())
				}
				return
			}
			if diff := cmp.Diff(test.want, problems.Error()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	utf8Hint = "UTF-8 without a byte order mark [json-encoding]"
	pairHint = `pairs like \ud83d\ude00, or the character itself [json-encoding]`
)

func TestLoneSurrogate(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		`{"a":"\ud83d\ude00"}`:        -1,
		`{"a":"\\ud83d"}`:             -1,
		`{"a":"\u00e9\n\""}`:          -1,
		`{"a":"\ud83d\ude00\ud83d"}`:  18,
		`{"\udc00":1}`:                2,
		`{"a":"\ud83d\\ude00"}`:       6,
		`{"a":"\uD83D\uDE00\uDFFFx"}`: 18,
	}
	for text, want := range tests {
		if got := loneSurrogate([]byte(text)); got != want {
			t.Errorf("loneSurrogate(%s) = %d, want %d", text, got, want)
		}
	}
}
