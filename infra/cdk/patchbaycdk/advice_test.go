package patchbaycdk

import (
	"slices"
	"testing"
)

// What is not wrong and hardly meant is told, and nothing else.
func TestAdvice(t *testing.T) {
	t.Parallel()
	s := newSources().
		tool("guarded", `{"permissions": ["a:b"], "risk": "medium"}`).
		tool("sample", `{"example": true, "function": {"secrets": ["token"], "environment": {"ADDRESS": "x"}}}`)
	for name, test := range map[string]struct {
		stage string
		want  []string
	}{
		"nothing to say": {`"secrets": {"token": {"secret": "t"}}, "environment": {"ADDRESS": "y"}`, nil},
		"nobody may call": {`"anonymous": true`, []string{"functions/guarded/tool.json asks for the permissions a:b, " +
			"which nobody has on an anonymous server: every call of guarded is refused"}},
		"names that nobody has": {`"secrets": {"tokn": {"secret": "t"}}, "environment": {"PORT": "1"}`, []string{
			`stage "prod" sets "tokn" under "secrets", which no tool.json names (did you mean "token"?)`,
			`stage "prod" sets "PORT" under "environment", which no tool.json names`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := s.load(parseStage(test.stage), false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, advice := range slices.Concat(p.outOfReach(), p.unused()) {
				got = append(got, advice.text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
