package patchbaycdk

import (
	"fmt"
	"strings"
	"testing"
)

// What is wrong stops the synthesis with a sentence that says what to do.
func TestFaults(t *testing.T) {
	t.Parallel()
	many := newSources()
	for i := range MaxExistingFunctions + 1 {
		many.tool(fmt.Sprintf("t%d", i),
			fmt.Sprintf(`{"function": {"arn": "arn:aws:lambda:eu-west-1:123456789012:function:f%d:1"}}`, i))
	}
	for name, test := range map[string]struct {
		sources sources
		stage   string
		want    []string
	}{
		"no tools": {newSources(), "", []string{"functions has no tools; a tool is a folder with a tool.json"}},
		"only examples": {newSources().tool("a", `{"example": true}`), "", []string{
			`functions has no tool to deploy: all 1 are examples; write one of your own`, `"examples": true`, `stage "prod"`}},
		"a wrong contract": {newSources().tool("a", `{"risk": "hihg"}`), "", []string{
			`functions/a/tool.json /contract/risk: "hihg" is not a value of this field, "high" is near`}},
		"a value missing": {newSources().tool("a", `{"function": {"environment": {"TO": "", "FROM": "", "X_Y": "1"}}}`), "",
			[]string{`functions/a/tool.json leaves FROM, TO to the deployment; add the value under "environment" of stage ` +
				`"prod" in patchbay.json`}},
		"no network": {newSources().tool("a", `{"execution": {"network": "vpc"}}`), "",
			[]string{`functions/a/tool.json runs in the network "vpc"; say which under "networks" of stage "prod"`}},
		"a local function": {newSources().tool("a", `{"function": {"arn": "local:quote"}}`), "",
			[]string{`functions/a/tool.json calls the function local:quote`, `under "functions" of stage "prod"`}},
		"too slow": {newSources().tool("a", `{"execution": {"timeoutSeconds": 61}}`), `"maxCallSeconds": 60`,
			[]string{`the server ends a call after 60 seconds, this tool after 61`}},
		"too many": {many, "", []string{"the contracts name 21 existing functions; allowed: 20"}},
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
	s := newSources().tool("shown", `{"example": true}`).tool("own", `{}`)
	for stage, want := range map[string]int{"": 1, `"examples": false`: 1, `"examples": true`: 2} {
		p, err := s.load(parseStage(stage), false)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.tools) != want {
			t.Errorf("%q deploys %d tools; want %d", stage, len(p.tools), want)
		}
	}
}

// A server is open to everybody only where the settings say so.
func TestNobodyOpensAServerBySayingNothing(t *testing.T) {
	t.Parallel()
	p, err := newSources().tool("own", `{}`).load(parseStage(""), false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `stage "prod" does not say who may call`
	if err := p.checkCallers(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error that says %s", err, want)
	}
	for _, allowed := range []struct {
		stage string
		local bool
	}{{`"anonymous": true`, false}, {"", true}} {
		p, err := newSources().tool("own", `{}`).load(parseStage(allowed.stage), allowed.local)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.checkCallers(); err != nil {
			t.Errorf("%+v: %v", allowed, err)
		}
	}
}
