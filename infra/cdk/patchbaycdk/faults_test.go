package patchbaycdk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is wrong stops the synthesis with a sentence that says what to do.
func TestFaults(t *testing.T) {
	t.Parallel()
	many := newSources()
	for i := range 41 {
		many.tool(fmt.Sprintf("t%d", i),
			fmt.Sprintf(`{"function": {"arn": "arn:aws:lambda:eu-west-1:123456789012:function:f%02d:1"}}`, i))
	}
	for name, test := range map[string]struct {
		sources sources
		stage   string
		want    []string
	}{
		"no tools": {newSources(), "", []string{"functions has no tools; a tool is a folder with a tool.json"}},
		"only examples": {newSources().tool("a", `{"example": true}`), "", []string{
			`functions has no tool to deploy: all 1 are examples; write one of your own`, `"examples": true`, `stage "prod"`}},
		"unknown examples": {newSources().tool("own", `{}`).tool("get_weather", `{"example": true}`).
			tool("add_item", `{"example": true}`), `"examples": ["get_wether", "own", "get_weather", "elsewhere"]`, []string{
			`stage "prod" lists under "examples" the tool "get_wether", which is not a tool of `,
			`(did you mean "get_weather"?); allowed: add_item, get_weather`,
			`the tool "own", which is no example, and is deployed anyway; allowed: add_item, get_weather`,
			`the tool "elsewhere", which is not a tool of `}},
		"no examples": {newSources().tool("own", `{}`), `"examples": ["own"]`, []string{
			`"own", which is no example, and is deployed anyway; allowed: none, since there are no examples`}},
		"a wrong contract": {newSources().tool("a", `{"risk": "hihg"}`), "", []string{
			` /contract/risk: "hihg" is not a value of this field, "high" is near`}},
		"a value missing": {newSources().tool("a", `{"function": {"environment": {"TO": "", "FROM": "", "X_Y": "1"}}}`), "",
			[]string{`functions/a/tool.json leaves FROM, TO to the deployment; add the value under "environment" of stage ` +
				`"prod" in patchbay.json`}},
		"no network": {newSources().tool("a", `{"execution": {"network": "vpc"}}`), "",
			[]string{`functions/a/tool.json runs in the network "vpc"; say which under "networks" of stage "prod"`}},
		"a local function": {newSources().tool("a", `{"function": {"arn": "local:quote"}}`), "",
			[]string{`functions/a/tool.json calls the function local:quote`, `under "functions" of stage "prod"`}},
		"too slow": {newSources().tool("a", `{"execution": {"timeoutSeconds": 61}}`), `"maxCallSeconds": 60`,
			[]string{`the server ends a call after 60 seconds, this tool after 61`}},
		"too many": {many, "", []string{"name 41 existing functions", "take 4428 characters", "allowed: 4400"}},
		"too many with those of the settings": {many, `"functions": {
				"f": "arn:aws:lambda:eu-west-1:123456789012:function:other:live"}`,
			[]string{"name 42 existing functions"}},
		"variables too large": {newSources().tool("a", `{"function": {"environment": {"TEXT": ""}}}`),
			`"environment": {"TEXT": "` + strings.Repeat("x", 4093) + `"}`,
			[]string{`functions/a/tool.json: its variables have 4097 bytes with what stage "prod" sets; allowed: 4096`}},
		"all at once": {newSources().tool("a", `{"execution": {"network": "vpc"}}`).
			tool("b", `{"function": {"arn": "local:q"}}`), "",
			[]string{"functions/a/tool.json runs", "functions/b/tool.json calls"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := test.sources.load(parseStage(test.stage), false)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want an error that says %s", err, want)
				}
			}
		})
	}
}

func TestExamplesAreDeployedWhereAskedFor(t *testing.T) {
	t.Parallel()
	s := newSources().tool("shown", `{"example": true}`).tool("shown_too", `{"example": true}`).tool("own", `{}`)
	for stage, want := range map[string][]string{
		"":                          {"own"},
		`"examples": false`:         {"own"},
		`"examples": true`:          {"own", "shown", "shown_too"},
		`"examples": ["shown_too"]`: {"own", "shown_too"},
	} {
		p, err := s.load(parseStage(stage), false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, namesOf(p)); diff != "" {
			t.Errorf("%q deploys (-want +got):\n%s", stage, diff)
		}
	}
	// SAM runs any folder's tools by the settings of any stage.
	p, err := s.load(parseStage(`"examples": ["elsewhere"]`), true)
	if err != nil || len(p.tools) != 3 {
		t.Errorf("on this machine: %v, %v", namesOf(p), err)
	}
}

func namesOf(p *project) []string {
	var names []string
	for _, tool := range p.tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// A server is open to everybody only where the settings say so.
func TestNobodyOpensAServerBySayingNothing(t *testing.T) {
	t.Parallel()
	p, err := newSources().tool("own", `{}`).load(parseStage(""), false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `stage "prod" does not say who may call; allowed in patchbay.json, one of them: "authorization"`
	if err := p.checkCallers(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error that says %s", err, want)
	}
	for _, allowed := range []struct {
		stage string
		local bool
	}{{`"anonymous": true`, false}, {guardedStage, false}, {"", true}} {
		p, err := newSources().tool("own", `{}`).load(parseStage(allowed.stage), allowed.local)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.checkCallers(); err != nil {
			t.Errorf("%+v: %v", allowed, err)
		}
	}
}
