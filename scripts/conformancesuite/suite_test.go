package conformancesuite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpectedFailuresParse(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		if _, err := loadExpected(revision); err != nil {
			t.Error(err)
		}
	}
	if _, err := loadExpected("1999-01-01"); err == nil {
		t.Error("no error for a revision without a list")
	}
}

func TestParseExpectedRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ list, want string }{
		"no reason":     {`[{"reason": "", "checks": {"a": ["b"]}}]`, "no reason"},
		"no check":      {`[{"reason": "r", "checks": {"a": []}}]`, "names no check"},
		"twice":         {`[{"reason": "r", "checks": {"a": ["b", "b"]}}]`, "listed twice"},
		"unknown field": {`[{"reason": "r", "scenario": "a"}]`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseExpected("list", []byte(test.list))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that contains %q", err, test.want)
			}
		})
	}
}

var ran = []scenario{
	{"good", []check{{ID: "a", Status: statusSuccess}, {ID: "b", Status: statusSuccess}, {ID: "c", Status: "SKIPPED"}}},
	{"warned", []check{{ID: "a", Status: statusSuccess}, {ID: "b", Status: statusWarning}}},
	{"known", []check{{ID: "a", Status: statusFailure}, {ID: "a", Status: statusSuccess}}},
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		expected   expectedFailures
		unexpected bool
		lines      []string
	}{
		{
			name:     "as expected",
			expected: expectedFailures{"known": {"a": "because"}},
			lines: []string{
				"good      2       0       ok", "warned    1       0       ok (warnings: 1)",
				"known     1       1       expected failure", "Expected in 1 scenarios: because", "4 passed, 1 failed",
			},
		},
		{
			name:       "a failure that is not listed",
			unexpected: true,
			lines:      []string{"known     1       1       FAILED", "4 passed, 1 failed"},
		},
		{
			name:       "another check of the scenario is listed",
			expected:   expectedFailures{"known": {"a": "because", "b": "because"}},
			unexpected: true,
			lines:      []string{"LISTED but not failing: known, check b"},
		},
		{
			name:       "a listed scenario passes",
			expected:   expectedFailures{"known": {"a": "because"}, "good": {"a": "because"}},
			unexpected: true,
			lines:      []string{"good      2       0       PASSED, but listed"},
		},
		{
			name:       "a listed scenario is gone",
			expected:   expectedFailures{"known": {"a": "because"}, "gone": {"a": "because"}},
			unexpected: true,
			lines:      []string{"LISTED but not failing: gone, check a"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := judge(ran, test.expected)
			var out strings.Builder
			if err := v.print(&out); err != nil {
				t.Fatal(err)
			}
			for _, line := range test.lines {
				if !strings.Contains(out.String(), line) {
					t.Errorf("no line %q in\n%s", line, out.String())
				}
			}
			if !strings.HasSuffix(out.String(), "\n4 passed, 1 failed\n") {
				t.Errorf("the counts are not the last line of\n%s", out.String())
			}
			if got := errors.Is(v.err(), ErrUnexpected); got != test.unexpected {
				t.Errorf("error %v, unexpected %v", v.err(), test.unexpected)
			}
		})
	}
}

func TestReadResults(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const stamp = "-2026-11-29T20-34-04-835Z"
	writeChecks(t, folder, "server-tools-list"+stamp, `[{"id": "a", "status": "SUCCESS"}]`)
	writeChecks(t, folder, "server-server-stateless"+stamp, `[{"id": "b", "status": "FAILURE", "errorMessage": "m"}]`)
	const announced = "\n=== Running scenario: server-stateless ===\n…\n=== Running scenario: tools-list ===\n"
	got, err := readResults(folder, announced)
	if err != nil {
		t.Fatal(err)
	}
	want := []scenario{
		{"server-stateless", []check{{ID: "b", Status: statusFailure, ErrorMessage: "m"}}},
		{"tools-list", []check{{ID: "a", Status: statusSuccess}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(scenario{})); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if _, err := readResults(folder, announced+"=== Running scenario: ping ===\n"); err == nil {
		t.Error("no error for a scenario that left no results")
	}
}

func writeChecks(t *testing.T, folder, name, checks string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name, "checks.json"), []byte(checks), 0o600); err != nil {
		t.Fatal(err)
	}
}
