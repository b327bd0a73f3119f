package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"patchbay/shared/contract"
)

// goodTool is a tool in which nothing is found.
const goodTool = `{
  "name": "find_notices",
  "title": "Find notices",
  "description": "Finds the notices that hold a text and returns their titles. Use it before you write a new one.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "text": { "type": "string", "description": "A part of the notice, such as \"release\"." },
      "limit": { "type": "integer", "description": "How many at most.", "minimum": 1, "maximum": 50, "default": 10 }
    },
    "required": [],
    "additionalProperties": false
  },
  "outputSchema": {
    "type": "object",
    "properties": {
      "titles": { "type": "array", "description": "The titles.", "items": { "type": "string" }, "maxItems": 50 }
    },
    "required": ["titles"],
    "additionalProperties": false
  },
  "annotations": { "readOnlyHint": true, "openWorldHint": false },
  "contract": { "category": "messages" }
}`

const goodServer = `{ "name": "notices", "version": "1.0.0" }`

// told are the rules whose examples say what no few lines can show. Their checks have tests of their own.
var told = []string{"json-encoding", "json-size", "json-syntax", "duplicate-key", "environment-size", "file-missing",
	"file-unreadable", "folder-name", "timeout-server", "schema-bounds", "description-long", "parameter-many",
	"parameter-description-long", "enum-many", "tool-heavy", "catalogue-heavy", "catalogue-many"}

// Every rule has an example of what is wrong, in which it finds that, and of what is right, in which nothing is found.
// The examples are what authors are shown, so they must be true.
func TestExamples(t *testing.T) {
	t.Parallel()
	advice := map[string]bool{}
	for _, rule := range adviceRules() {
		advice[rule.ID] = true
	}
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			if rule.Wrong == "" || rule.Right == "" {
				t.Fatal("the rule has no example")
			}
			if slices.Contains(told, rule.ID) {
				return
			}
			wrong := ids(exampleProblems(t, rule, rule.Wrong))
			if !slices.Contains(wrong, rule.ID) || advice[rule.ID] && len(wrong) > 1 {
				t.Errorf("in what is wrong are found %v, want %s", wrong, rule.ID)
			}
			if problems := exampleProblems(t, rule, rule.Right); len(problems) > 0 {
				t.Errorf("in what is right is found:\n%s", problems.Error())
			}
		})
	}
}

func TestExamplesAreOfRules(t *testing.T) {
	t.Parallel()
	known := ids(nil)
	for _, rule := range Rules() {
		known = append(known, rule.ID)
	}
	for id := range examples() {
		if !slices.Contains(known, id) {
			t.Errorf("there is an example for %s, but no such rule", id)
		}
	}
}

func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, rule := range Rules() {
		if seen[rule.ID] || rule.What == "" || rule.Why == "" || rule.Source == "" {
			t.Errorf("the rule %s is there twice, or says too little", rule.ID)
		}
		seen[rule.ID] = true
	}
	for _, rule := range adviceRules() {
		if rule.Severity != contract.SeverityWarning {
			t.Errorf("the rule %s of this package is no advice", rule.ID)
		}
	}
}

func ids(problems contract.Problems) []string {
	found := map[string]bool{}
	for _, p := range problems {
		found[p.ID] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// exampleProblems puts an example into good files and looks at them.
func exampleProblems(t *testing.T, rule Rule, example string) contract.Problems {
	t.Helper()
	if rule.Place == "server.json" {
		server := decodeObject(t, goodServer)
		maps.Copy(server, decodeObject(t, "{"+example+"}"))
		return problemsOf(t, encode(t, server), goodTool)
	}
	var tools []string
	if !strings.HasPrefix(example, "{") {
		example = "{" + example + "}"
	}
	decoder := json.NewDecoder(strings.NewReader(example))
	decoder.UseNumber()
	for {
		var members map[string]any
		if err := decoder.Decode(&members); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("reading the example: %v\n%s", err, example)
		}
		tools = append(tools, merged(t, rule.Place, members))
	}
	return problemsOf(t, goodServer, tools...)
}

// merged puts members into the object of the good tool that a pointer leads to; null takes one out.
func merged(t *testing.T, pointer string, members map[string]any) string {
	t.Helper()
	tool := decodeObject(t, goodTool)
	at := tool
	for _, key := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if key != "" {
			at = at[key].(map[string]any)
		}
	}
	for key, value := range members {
		if at[key] = value; value == nil {
			delete(at, key)
		}
	}
	return encode(t, tool)
}

// problemsOf writes a folder of tools and looks at it as lint does.
func problemsOf(t *testing.T, server string, tools ...string) contract.Problems {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "functions")
	write(t, filepath.Join(dir, "server.json"), server)
	for i, tool := range tools {
		write(t, filepath.Join(dir, "tool_"+strconv.Itoa(i), "tool.json"), tool)
	}
	report, err := Run(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var problems contract.Problems
	for _, finding := range report.Findings {
		if finding.Suppressed == "" {
			problems = append(problems, finding.Problem)
		}
	}
	return problems
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func decodeObject(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return object
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
