package authorization_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"patchbay/shared/authorization"
)

var documented = regexp.MustCompile("(?s)<!-- authorization -->\n```json\n(.*?)\n```")

// Whoever sets up sign-in copies the examples: each is taken as it stands, and every member is told of.
func TestExamplesInTheDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/authorization.md")
	if err != nil {
		t.Fatal(err)
	}
	providers := map[authorization.Provider]bool{}
	for _, match := range documented.FindAllSubmatch(page, -1) {
		config, err := authorization.Parse(match[1])
		if err != nil {
			t.Errorf("%s\n%v", match[1], err)
			continue
		}
		for _, issuer := range config.Issuers {
			providers[issuer.Provider] = true
		}
	}
	if len(providers) < 6 {
		t.Errorf("the documentation has examples for %v", providers)
	}
	for _, part := range []struct {
		prefix string
		of     reflect.Type
	}{
		{"", reflect.TypeFor[authorization.Config]()},
		{"issuers[].", reflect.TypeFor[authorization.Issuer]()},
		{"front.", reflect.TypeFor[authorization.Front]()},
	} {
		for field := range part.of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(string(page), "| `"+part.prefix+name+"` |") {
				t.Errorf("the documentation does not say what %s%s means", part.prefix, name)
			}
		}
	}
}
