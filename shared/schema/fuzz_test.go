package schema_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"patchbay/shared/schema"
)

// script reads the schemas and values of the golden conversations.
func script(t testing.TB, add func(compiled, value string)) {
	t.Helper()
	for _, name := range []string{"messages", "defaults", "problems"} {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		compiled := ""
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "schema "); ok {
				compiled = strings.TrimSpace(rest)
				add(compiled, "{}")
			} else if rest, ok := strings.CutPrefix(line, "> "); ok {
				add(compiled, strings.TrimSpace(rest))
			}
		}
	}
}

// FuzzCheck: no schema and no value makes Compile or Check panic or hang; what Check returns is taken as it is by a
// second Check, and is the value given with nothing but insertions.
func FuzzCheck(f *testing.F) {
	script(f, func(compiled, value string) { f.Add([]byte(compiled), []byte(value)) })
	f.Fuzz(func(t *testing.T, text, value []byte) {
		s, err := schema.Compile(text, schema.Limits{})
		if err != nil {
			_ = err.Error()
			return
		}
		filled, err := s.Check(value)
		if err != nil {
			_ = err.Error()
			return
		}
		again, err := s.Check(filled)
		if err != nil || !bytes.Equal(again, filled) {
			t.Fatalf("schema %s: Check(%s) = %s, and again = %s, %v", text, value, filled, again, err)
		}
		if !isSubsequence(value, filled) {
			t.Fatalf("schema %s: Check(%s) = %s does not hold what was given", text, value, filled)
		}
	})
}

func isSubsequence(part, whole []byte) bool {
	for _, c := range whole {
		if len(part) > 0 && part[0] == c {
			part = part[1:]
		}
	}
	return len(part) == 0
}
