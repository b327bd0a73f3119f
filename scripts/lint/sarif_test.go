package lint

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// readSARIF writes a report and reads it back, held to OASIS' own schema (SARIF 2.1.0, errata 01), which the library
// carries.
func readSARIF(t *testing.T, report Report) *sarif.Run {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteSARIF(&b, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	read, err := sarif.FromBytes(b.Bytes(), sarif.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if len(read.Runs) != 1 {
		t.Fatalf("%d runs, want one", len(read.Runs))
	}
	return read.Runs[0]
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	run := readSARIF(t, aReport(t))
	type result struct {
		ID, Level, Text, URI, Base, Pointer, Reason string
		StartLine, StartColumn, EndLine, EndColumn  int
	}
	var got []result
	for _, r := range run.Results {
		physical := r.Locations[0].PhysicalLocation
		region := physical.Region
		short := result{ID: *r.RuleID, Level: r.Level, Text: *r.Message.Text, URI: *physical.ArtifactLocation.URI,
			Base: *physical.ArtifactLocation.URIBaseID, StartLine: *region.StartLine, StartColumn: *region.StartColumn,
			EndLine: *region.EndLine, EndColumn: *region.EndColumn}
		if logical := r.Locations[0].LogicalLocations; len(logical) > 0 {
			short.Pointer = *logical[0].FullyQualifiedName
		}
		if len(r.Suppressions) > 0 {
			short.Reason = *r.Suppressions[0].Justification
		}
		got = append(got, short)
		if id := *run.Tool.Driver.Rules[r.RuleIndex].ID; id != *r.RuleID {
			t.Errorf("the rule of %s is %s", *r.RuleID, id)
		}
	}
	const file = "functions/door/tool.json"
	want := []result{
		{"title-missing", "warning", `the tool has no name for people; allowed: a "title" of a few words`, file, srcRoot, "",
			"Nobody is asked about it.", 1, 1, 1, 2},
		{"name-model-api", "warning", `model APIs do not take the name "open.door" as it is; allowed: ` +
			"1 to 64 of A-Z a-z 0-9 _ -", file, srcRoot, "/name", "", 2, 3, 2, 22},
		{"wrong-value", "error", `"hihg" is not a value of this field, "high" is near; allowed: "low", "medium", "high", ` +
			`"critical", "forbidden"`, file, srcRoot, "/contract/risk", "", 7, 5, 7, 19},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if driver := run.Tool.Driver; *driver.Name != "patchbay" || *driver.SemanticVersion != "1.2.3" ||
		len(driver.Rules) != len(Rules()) {
		t.Errorf("driver %s %s with %d rules", *driver.Name, *driver.SemanticVersion, len(driver.Rules))
	}
}

// The other side of a fault between two tools is a related location.
func TestSARIFOfTwoTools(t *testing.T) {
	t.Parallel()
	run := readSARIF(t, mustRun(t, folder(t, map[string]string{"notices": goodTool, "two": goodTool}), Options{}))
	for _, r := range run.Results {
		if *r.RuleID != "duplicate-tool" {
			continue
		}
		if len(r.RelatedLocations) != 1 {
			t.Fatalf("%d related locations, want one", len(r.RelatedLocations))
		}
		other := r.RelatedLocations[0].PhysicalLocation
		if *other.ArtifactLocation.URI != "functions/notices/tool.json" || other.Region.StartColumn == nil {
			t.Errorf("the other tool is at %s, %+v", *other.ArtifactLocation.URI, *other.Region)
		}
		return
	}
	t.Error("two tools of one name were not found")
}

// Files outside the repository, whole files, faults of the syntax: every kind of place is valid.
func TestSARIFOfOddPlaces(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"broken": "{\n\"name\": x}", "with space": goodTool})
	report := mustRun(t, dir, Options{})
	readSARIF(t, report)
	outside, err := report.From(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := readSARIF(t, outside)
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation
		if uri := *at.ArtifactLocation.URI; !strings.HasPrefix(uri, "file:///") || strings.Contains(uri, " ") {
			t.Errorf("%s is at %q", *r.RuleID, uri)
		}
		inLine2 := *at.Region.StartLine == 2 && *at.Region.StartColumn == 9 && at.Region.EndLine == nil
		if *r.RuleID == "json-syntax" && !inLine2 {
			t.Errorf("the fault in the syntax is at %+v", *at.Region)
		}
	}
	if len(run.Results) < 2 {
		t.Errorf("%d results", len(run.Results))
	}
}

// A finding keeps its fingerprint when lines above it come and go, and no two have one.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	print := func(tool string) string {
		return mustRun(t, folder(t, map[string]string{"notices": tool}), Options{}).Findings[0].fingerprint()
	}
	tool := goodWith(t, `"title": null`)
	if moved := print("\n\n" + tool); moved != print(tool) {
		t.Error("a moved finding is another")
	}
	seen := map[string]bool{}
	report := aReport(t)
	for _, f := range report.Findings {
		seen[f.fingerprint()] = true
	}
	if len(seen) != len(report.Findings) {
		t.Errorf("%d fingerprints of %d findings", len(seen), len(report.Findings))
	}
}

func TestSourcesOnTheWeb(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"server/tools#tool; schema 2026-07-28": "https://modelcontextprotocol.io/specification/2026-07-28/" +
			"server/tools#tool",
		"A page, 2025, https://example.com/a; B, https://b.example.com": "https://example.com/a",
		"docs/tool-json.md": "",
	} {
		if got := sourceURI(source); got != want {
			t.Errorf("sourceURI(%q) = %q, want %q", source, got, want)
		}
	}
}
