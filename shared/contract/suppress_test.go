package contract

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// suppressing is a tool with two warnings, name-model-api and description-short, and what its contract says of them.
func suppressing(suppressions string) []byte {
	return []byte(`{"name":"ping.host","description":"Pings.",` +
		`"inputSchema":{"type":"object","additionalProperties":false},"contract":{"suppress":[` + suppressions + `]}}`)
}

func TestSuppression(t *testing.T) {
	t.Parallel()
	const reason = `,"reason":"Our only client renames tools."}`
	both := []string{"description-short", "name-model-api"}
	for name, test := range map[string]struct {
		suppress string
		want     []string
	}{
		"nothing":          {``, both},
		"one":              {`{"id":"name-model-api"` + reason, []string{"description-short"}},
		"at its place":     {`{"id":"name-model-api","pointer":"/name"` + reason, []string{"description-short"}},
		"elsewhere":        {`{"id":"name-model-api","pointer":"/title"` + reason, both},
		"half of its name": {`{"id":"name-model-api","pointer":"/nam"` + reason, both},
		"another check":    {`{"id":"title-missing"` + reason, both},
		"an error": {`{"id":"name-charset"` + reason,
			[]string{"suppress-error", "description-short", "name-model-api"}},
		"without a reason":  {`{"id":"name-model-api"}`, []string{"suppress-form", "description-short"}},
		"both":              {`{"id":"name-model-api"` + reason + `,{"id":"description-short"` + reason, nil},
		"an unknown member": {`{"id":"name-model-api","why":"x"` + reason, []string{"unknown-field", "description-short"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, problems := Parse("tool.json", suppressing(test.suppress))
			var got []string
			for _, p := range problems {
				got = append(got, p.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if (tool == nil) != (problems.Err() != nil) {
				t.Errorf("tool = %v, problems = %v", tool, problems)
			}
		})
	}
}

// What is suppressed changes neither what is stored nor what it was confirmed as.
func TestSuppressionIsNotPublished(t *testing.T) {
	t.Parallel()
	with := mustParse(t, suppressing(`{"id":"name-model-api","reason":"Our only client renames tools."}`))
	without := mustParse(t, suppressing(``))
	if with.Digest() != without.Digest() {
		t.Error("a suppression changes the digest")
	}
}

func TestLookKeepsWhatHasFaults(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{
		"server.json": `{"name":"notes","version":"1",
			"suppress":[{"id":"catalogue-many","reason":"Hosts search them."}]}`,
		"good/tool.json":   string(suppressing(`{"id":"name-model-api","reason":"Our only client renames tools."}`)),
		"wrong/tool.json":  "{\n  \"name\": \"wrong\",\n  \"contract\": {\n    \"risk\": \"hihg\"\n  }\n}",
		"broken/tool.json": "{\n  \"name\": x}",
	})
	survey := Look(dir, ServerLimits{MaxCallSeconds: 5})
	var names, found []string
	for _, tool := range survey.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"ping.host", "wrong"}; !slices.Equal(names, want) {
		t.Errorf("tools = %q, want %q", names, want)
	}
	for _, p := range survey.Problems {
		found = append(found, p.Place()+" "+p.Pointer+" "+p.ID)
	}
	want := []string{
		"functions/broken/tool.json:2:11  json-syntax",
		"functions/good/tool.json:1:105 /contract/execution/timeoutSeconds timeout-server",
		"functions/good/tool.json:1:21 /description description-short",
		"functions/good/tool.json:1:2 /name name-model-api",
		"functions/wrong/tool.json:3:3 /contract/execution/timeoutSeconds timeout-server",
		"functions/wrong/tool.json:4:5 /contract/risk wrong-value",
		"functions/wrong/tool.json:1:1 /description description-missing",
		"functions/wrong/tool.json:1:1 /inputSchema missing-field",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := survey.Suppressions("functions/good/tool.json"); len(got) != 1 || got[0].ID != "name-model-api" {
		t.Errorf("suppressions of the tool = %v", got)
	}
	if got := survey.Suppressions("functions/server.json"); len(got) != 1 || got[0].ID != "catalogue-many" {
		t.Errorf("suppressions of the server = %v", got)
	}
	if set, problems := LoadDir(dir); set != nil || slices.ContainsFunc(problems, func(p Problem) bool {
		return p.ID == "name-model-api"
	}) {
		t.Errorf("LoadDir = %v, %v", set, problems)
	}
}

func TestRegion(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{"server.json": someServer,
		"a/tool.json": `{
  "name": "é", "title": "A",
  "a/b": {"~": [10, {"x": 1}]},
  "e": {}, "e": []
}
`})
	survey := Look(dir, ServerLimits{})
	for pointer, want := range map[string]Region{
		"":            {1, 1, 1, 2},
		"/name":       {2, 3, 2, 14},
		"/title":      {2, 16, 2, 28},
		"/a~1b":       {3, 3, 3, 8},
		"/a~1b/~0":    {3, 11, 3, 14},
		"/a~1b/~0/0":  {3, 17, 3, 19},
		"/a~1b/~0/1":  {3, 21, 3, 22},
		"/a~1b/~0/2":  {3, 11, 3, 14}, // of what is missing: where it would be
		"/a~1b/~0/-1": {3, 11, 3, 14},
		"/absent/x":   {1, 1, 1, 2},
		"/e":          {4, 12, 4, 19}, // the second of two
	} {
		if got := survey.Region("functions/a/tool.json", pointer); got != want {
			t.Errorf("Region(%q) = %v, want %v", pointer, got, want)
		}
	}
	if got := survey.Region("functions/b/tool.json", "/name"); got != (Region{}) {
		t.Errorf("the region of a file that is not there is %v", got)
	}
}
