package evaluate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every fault is told with its line, and nothing is taken for what it is not.
func TestFaultsOfFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"empty":           {"", "x.yaml:1: the file is empty"},
		"no YAML":         {"tool: a\ncases: [\n", "x.yaml:2: not YAML"},
		"two documents":   {"tool: a\ncases: [{name: b}]\n---\ntool: b\n", "x.yaml:3: a second document"},
		"a list":          {"- tool: a\n", "x.yaml:1: the file is no mapping"},
		"no tool":         {"cases: [{name: b}]\n", "x.yaml:1: the file has no tool"},
		"no cases":        {"tool: a\ncases: []\n", "x.yaml:2: cases is a list with at least one case"},
		"a field of none": {"tool: a\ncase: [{name: b}]\n", `x.yaml:2: "case" is no field of the file; did you mean cases?`},
		"a far field": {
			"tool: a\ncases:\n- name: b\n  zzzzzz: 1\n",
			`x.yaml:4: "zzzzzz" is no field of a case; allowed: answers,`,
		},
		"twice": {"tool: a\ntool: b\ncases: [{name: b}]\n", `x.yaml:2: "tool" is there twice`},
		"one name twice": {
			"tool: a\ncases:\n- name: b\n- name: b\n",
			`x.yaml:4: "b" is the name of the case in line 3, too`,
		},
		"a number as text": {"tool: 1\ncases: [{name: b}]\n", "x.yaml:1: tool is a text"},
		"steps and more": {
			"tool: a\ncases:\n- name: b\n  repeat: 2\n  steps: [{repeat: 1}]\n",
			"x.yaml:3: a case has steps, or",
		},
		"repeat nothing":   {"tool: a\ncases: [{name: b, repeat: 0}]\n", "repeat is a whole number of at least 1"},
		"repeat a half":    {"tool: a\ncases: [{name: b, repeat: 1.5}]\n", "repeat is a whole number of at least 1"},
		"arguments a list": {"tool: a\ncases: [{name: b, arguments: [1]}]\n", "arguments is a mapping"},
		"a wrong word": {
			"tool: a\ncases: [{name: b, confirm: yes}]\n",
			`confirm is "yes"; allowed: accept, decline, cancel`,
		},
		"an anchor": {
			"tool: a\ncases: [{name: b, arguments: {x: &x [1], y: *x}}]\n", "aliases are not read",
		},
		"a merge": {"tool: a\ncases: [{name: b, arguments: {<<: {a: 1}}}]\n", "a key is no text"},
		"a number beyond JSON": {
			"tool: a\ncases: [{name: b, arguments: {x: 0x1f}}]\n", `"0x1f" is no number of JSON`,
		},
		"no number": {"tool: a\ncases: [{name: b, arguments: {x: .inf}}]\n", `".inf" is no number of JSON`},
		"binary": {
			"tool: a\ncases: [{name: b, arguments: {x: !!binary aGk=}}]\n",
			"the tag !!binary is not read",
		},
		"an unknown value": {
			"tool: a\ncases:\n- name: b\n  arguments: {x: $(nothing)}\n",
			"x.yaml:4: $(nothing) has no value here; allowed: $(now), $(run), or $$( for the text $(",
		},
		"a later value": {
			"tool: a\ncases:\n- name: b\n  steps:\n  - arguments: {x: $(y)}\n  - save: {y: /y}\n",
			"x.yaml:5: $(y) has no value",
		},
		"another case's": {
			"tool: a\ncases:\n- name: b\n  save: {y: /y}\n- name: c\n  arguments: {x: $(y)}\n",
			"x.yaml:6: $(y) has no value",
		},
		"no span":      {"tool: a\ncases: [{name: b, key: $(now+1day)}]\n", `"+1day" is no span of time`},
		"saved as now": {"tool: a\ncases: [{name: b, save: {now: /y}}]\n", `"now" is no name for a saved value`},
		"no pointer":   {"tool: a\ncases: [{name: b, save: {x: y}}]\n", `"y" is no JSON Pointer`},
		"no pattern":   {"tool: a\ncases: [{name: b, save: {x: {pattern: '('}}}]\n", "the pattern is wrong"},
		"an unknown keyword": {
			"tool: a\ncases: [{name: b, expect: {result: {x: {$minimun: 1}}}}]\n",
			"did you mean $minimum?",
		},
		"a mixed mapping": {
			"tool: a\ncases: [{name: b, expect: {result: {x: {$type: string, y: 1}}}}]\n",
			`"y" stands beside keys with $`,
		},
		"a wrong schema": {"tool: a\ncases: [{name: b, expect: {result: {$type: text}}}]\n", "is no JSON Schema"},
		"absent and more": {
			"tool: a\ncases: [{name: b, expect: {result: {$absent: true, $type: string}}}]\n",
			"$absent is true, and stands alone",
		},
		"absent in a list": {
			"tool: a\ncases: [{name: b, expect: {result: [{$absent: false}]}}]\n",
			"$absent is true, and stands alone",
		},
		"has nothing":       {"tool: a\ncases: [{name: b, expect: {result: {$has: []}}}]\n", "$has is a list"},
		"a text of numbers": {"tool: a\ncases: [{name: b, expect: {text: [1]}}]\n", "text is a text, a list of texts, or"},
		"error false":       {"tool: a\ncases: [{name: b, expect: {error: false}}]\n", "error is true, or the code"},
		"refused and result": {
			"tool: a\ncases: [{name: b, expect: {refused: true, result: {}}}]\n",
			"a request that is refused has no result",
		},
		"refused and saved": {
			"tool: a\ncases: [{name: b, expect: {refused: true}, save: {x: /x}}]\n",
			"a request that is refused has no result",
		},
		"a status of nothing": {
			"tool: a\ncases: [{name: b, expect: {refused: {status: 1}}}]\n",
			"status is a whole number of at least 100",
		},
		"asked nobody":      {"tool: a\ncases: [{name: b, expect: {asked: x}}]\n", "asked needs confirm or answers"},
		"an answer of none": {"tool: a\ncases: [{name: b, answers: [{content: {}}]}]\n", "an answer has no action"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("x.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// All faults are told at once, in the order of their lines.
func TestAllFaultsAreTold(t *testing.T) {
	t.Parallel()
	_, err := Parse("x.yaml", []byte("tool: 1\ncases:\n- name: b\n  key: $(c)\n  repeat: 0\n- steps: []\n"))
	lines := strings.Split(err.Error(), "\n")
	var at []string
	for _, line := range lines {
		at = append(at, strings.Join(strings.SplitN(line, ":", 3)[:2], ":"))
	}
	want := []string{"x.yaml:1", "x.yaml:4", "x.yaml:5", "x.yaml:6", "x.yaml:6"}
	if !slices.Equal(at, want) {
		t.Errorf("got %q", lines)
	}
}

// The file that the documentation shows is one.
func TestDocumentedFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "eval.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(text), "<!-- example -->\n```yaml\n")
	example, _, ended := strings.Cut(example, "```\n")
	if !found || !ended {
		t.Fatal("docs/eval.md shows no example")
	}
	file, err := Parse("docs/eval.md", []byte(example))
	if err != nil || file.Tool != "add_item" || len(file.Cases) != 4 || len(file.Cases[0].Steps) != 3 {
		t.Errorf("got %+v, %v", file, err)
	}
}
