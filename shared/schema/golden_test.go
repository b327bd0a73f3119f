package schema_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/schema"
)

var update = flag.Bool("update", false, "write what the schemas answer into testdata")

// TestGolden plays the conversations in testdata. A line "schema …" compiles one, "> …" checks a value against it; the
// lines that begin with two blanks are what comes back.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages", "defaults", "problems"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := "testdata/" + name + ".txt"
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	t.Helper()
	var compiled *schema.Schema
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if text, ok := strings.CutPrefix(line, "schema "); ok {
			var err error
			compiled, err = schema.Compile([]byte(text), schema.Limits{})
			out.WriteString(answer("", err))
		} else if text, ok := strings.CutPrefix(line, ">"); ok {
			out.WriteString(check(t, compiled, strings.TrimSpace(text)))
		}
	}
	return out.String()
}

func check(t *testing.T, s *schema.Schema, text string) string {
	t.Helper()
	if s == nil {
		t.Fatalf("no schema to check %s against", text)
	}
	filled, err := s.Check([]byte(text))
	var invalid *schema.Invalid
	if err != nil && !errors.As(err, &invalid) {
		t.Errorf("Check(%s) = %T, want *Invalid", text, err)
	}
	return answer(string(filled), err)
}

func answer(result string, err error) string {
	if err != nil {
		result = err.Error()
	}
	if result == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(result, "\n", "\n  ") + "\n"
}
