package localgateway

import (
	"regexp"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true}, {"*", "a/b", true}, {"?", "", false},
		{"?", "a", true}, {"a*c", "abcbc", true}, {"a*c", "abcb", false}, {"a**", "a", true}, {"*a?", "aab", true},
		{"*a?", "aa", true}, {"*a?", "a", false}, {"api/*/POST/*", "api/prod/POST/mcp", true},
		{"api/*/POST/*", "api/prod/GET/mcp", false}, {"api/*/POST", "api/prod/POST/mcp", false}, {"A", "a", false},
		{"[a]", "a", false}, {"a.c", "abc", false},
	} {
		if got := matches(test.pattern, test.text); got != test.want {
			t.Errorf("%q and %q: %v", test.pattern, test.text, got)
		}
	}
}

// The comparison says what a regular expression of the same meaning says.
func FuzzMatches(f *testing.F) {
	f.Add("api/*/P?ST/*", "api/prod/POST/mcp")
	f.Add("*a*b?", "aabab")
	f.Add("**?", "a")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 40 || len(text) > 200 || !isASCII(pattern+text) {
			t.Skip()
		}
		expression := regexp.QuoteMeta(pattern)
		expression = strings.ReplaceAll(expression, `\*`, `(?s:.*)`)
		expression = strings.ReplaceAll(expression, `\?`, `(?s:.)`)
		want := regexp.MustCompile(`\A` + expression + `\z`).MatchString(text)
		if got := matches(pattern, text); got != want {
			t.Errorf("%q and %q: %v", pattern, text, got)
		}
	})
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(c rune) bool { return c > '~' }) }
