package lint

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func written(t *testing.T, report Report, style Style) string {
	t.Helper()
	var b strings.Builder
	if err := report.Write(&b, style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// aReport has an error, a warning and one that is suppressed.
func aReport(t *testing.T) Report {
	t.Helper()
	return mustRun(t, folder(t, map[string]string{
		"door": `{
  "name": "open.door",
  "description": "Opens the door of the office. Use it when somebody rings.",
  "inputSchema": {"type": "object", "additionalProperties": false},
  "annotations": {"destructiveHint": false, "openWorldHint": false},
  "contract": {
    "risk": "hihg",
    "suppress": [{"id": "title-missing", "reason": "Nobody is asked about it."}]
  }
}`,
	}), Options{Estimator: letters{}})
}

// letters counts letters, which do not change with a vocabulary.
type letters struct{}

func (letters) Name() string { return "letters" }

func (letters) Count(text string) (int, error) { return len(text), nil }

const aReportText = `functions/door/tool.json:2:3: warning: model APIs do not take the name "open.door" as it is ` +
	`[name-model-api]
    at: /name
    allowed: 1 to 64 of A-Z a-z 0-9 _ -
    why: Model APIs take no other names; a client must rename the tool, and your instructions then name one that ` +
	`the model does not know. (tool name patterns of the OpenAI and Anthropic APIs; Anthropic's takes 128 characters)

functions/door/tool.json:7:5: error: "hihg" is not a value of this field, "high" is near [wrong-value]
    at: /contract/risk
    allowed: "low", "medium", "high", "critical", "forbidden"
    why: A misspelled value would be a promise that nobody keeps. (docs/tool-json.md)

Tokens of the definitions, as letters counts them; other models count otherwise
  listed    model  tool
     217      155  open.door
     217      155  all 1
listed: the definition as tools/list sends it; model: name, description and inputSchema, which is what most hosts ` +
	`give to a model

1 tool: 1 error, 1 warning, 1 suppressed (--all shows them)
`

func TestText(t *testing.T) {
	t.Parallel()
	report := aReport(t)
	if diff := cmp.Diff(strings.Split(aReportText, "\n"), strings.Split(written(t, report, Style{}), "\n")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	all := written(t, report, Style{Suppressed: true})
	for _, want := range []string{"1 suppressed\n", "    reason: Nobody is asked about it.\n",
		"functions/door/tool.json:1:1: suppressed: the tool has no name for people [title-missing]\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("with all, %q is missing in:\n%s", want, all)
		}
	}
}

func TestTextIsWrapped(t *testing.T) {
	t.Parallel()
	text := written(t, aReport(t), Style{Columns: 60})
	for line := range strings.Lines(text) {
		detail := strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     1")
		if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); detail && columns > 60 {
			t.Errorf("%d columns: %s", columns, line)
		}
	}
	for line := range strings.Lines(strings.NewReplacer("\n      ", " ").Replace(text)) {
		if strings.Contains(line, "why:") && !strings.Contains(aReportText, line) {
			t.Errorf("wrapping changed %q", line)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	report := aReport(t)
	if plain := written(t, report, Style{}); strings.Contains(plain, "\x1b") {
		t.Errorf("without colours there are escapes: %q", plain)
	}
	colourful := written(t, report, Style{Colour: true})
	for _, want := range []string{red + "error" + normal, yellow + "warning" + normal} {
		if !strings.Contains(colourful, want) {
			t.Errorf("%q is missing", want)
		}
	}
	colours := strings.NewReplacer(red, "", yellow, "", bold, "", dim, "", normal, "")
	if plain := colours.Replace(colourful); plain != aReportText {
		t.Errorf("colours change the text:\n%s", plain)
	}
}

// What stands in a contract does nothing to a terminal, and cannot look like a line of the report's own.
func TestTextIsInert(t *testing.T) {
	t.Parallel()
	report := mustRun(t, folder(t, map[string]string{
		"notices": goodWith(t, `"name": "find\u001b[2K\nfunctions/x/tool.json:1:1: error: forged", "title\u009b": 1`),
	}), Options{Estimator: letters{}})
	text := written(t, report, Style{})
	if strings.ContainsAny(text, "\x1b\u009b") || strings.Contains(text, "\nfunctions/x") {
		t.Errorf("a contract acts on the terminal: %q", text)
	}
	if report.Errors < 2 {
		t.Errorf("found %d errors, want those of name and title", report.Errors)
	}
}

func TestTableHasTheHeaviest(t *testing.T) {
	t.Parallel()
	cost := Cost{Estimator: "letters"}
	for i := range 25 {
		cost.Tools = append(cost.Tools, ToolCost{Name: "tool_" + string(rune('a'+i)), Listed: i + 1, Model: 1})
		cost.Listed, cost.Model = cost.Listed+i+1, cost.Model+1
	}
	text := written(t, Report{Cost: cost}, Style{})
	for _, want := range []string{"      25        1  tool_y\n      24        1  tool_x\n", "       6        1  tool_f\n" +
		"      15        5  5 lighter tools\n     325       25  all 25\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "tool_e") {
		t.Errorf("a light tool is shown:\n%s", text)
	}
}

func TestRulesAsText(t *testing.T) {
	t.Parallel()
	for _, rule := range Rules() {
		var b strings.Builder
		if err := rule.Write(&b, Style{}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{rule.ID, rule.What, rule.Why, rule.Source} {
			if !strings.Contains(b.String(), part) {
				t.Errorf("%s: %q is missing in:\n%s", rule.ID, part, b.String())
			}
		}
	}
	var list strings.Builder
	if err := WriteRules(&list, Rules()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(list.String(), "\n"); got != len(Rules()) {
		t.Errorf("%d lines for %d rules", got, len(Rules()))
	}
}

func TestNothingButFolders(t *testing.T) {
	t.Parallel()
	report := mustRun(t, filepath.Join(t.TempDir(), "functions"), Options{})
	if report.Errors != 2 || report.Tools != 0 {
		t.Errorf("a folder that is not there: %+v", report.Findings)
	}
	if text := written(t, report, Style{}); !strings.Contains(text, "no tools: 2 errors, no warnings") {
		t.Errorf("text:\n%s", text)
	}
}
