package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/contract"
)

// folder writes tools, by their folders, beside a good server, and returns the functions folder.
func folder(t *testing.T, tools map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "functions")
	write(t, filepath.Join(dir, "server.json"), goodServer)
	for name, text := range tools {
		write(t, filepath.Join(dir, name, "tool.json"), text)
	}
	return dir
}

// goodWith is the good tool with members put over its own.
func goodWith(t *testing.T, members string) string {
	t.Helper()
	return merged(t, "", decodeObject(t, "{"+members+"}"))
}

func mustRun(t *testing.T, dir string, options Options) Report {
	t.Helper()
	report, err := Run(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// places are the findings in short.
func places(report Report) []string {
	var found []string
	for _, f := range report.Findings {
		place := f.File + " " + f.Pointer + " " + f.ID
		if f.Suppressed != "" {
			place += " suppressed"
		}
		found = append(found, place)
	}
	return found
}

func wantPlaces(t *testing.T, report Report, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, places(report)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestGoodToolHasNoFindings(t *testing.T) {
	t.Parallel()
	report := mustRun(t, folder(t, map[string]string{"notices": goodTool}), Options{})
	wantPlaces(t, report)
	if report.Tools != 1 || report.Errors+report.Warnings+report.Suppressed != 0 {
		t.Errorf("the report counts %+v", report)
	}
	if cost := report.Cost; len(cost.Tools) != 1 || cost.Listed < 100 || cost.Model >= cost.Listed {
		t.Errorf("cost = %+v", cost)
	}
}

// A file with faults is advised on as far as it can be read, and the other files are as if it were not there.
func TestFilesWithFaults(t *testing.T) {
	t.Parallel()
	report := mustRun(t, folder(t, map[string]string{
		"broken":  `{"name": `,
		"faulty":  goodWith(t, `"name": "find_faults", "title": null, "contract": {"risk": "hihg"}`),
		"notices": goodWith(t, `"title": null`),
	}), Options{})
	wantPlaces(t, report,
		"functions/broken/tool.json  json-syntax",
		"functions/faulty/tool.json  title-missing",
		"functions/faulty/tool.json /contract/risk wrong-value",
		"functions/notices/tool.json  title-missing",
		"functions/notices/tool.json /description description-near",
	)
	if report.Errors != 2 || report.Warnings != 3 || report.Tools != 3 {
		t.Errorf("errors = %d, warnings = %d, tools = %d", report.Errors, report.Warnings, report.Tools)
	}
}

// Of what is wrong already no advice is given, but of everything beside it and in it.
func TestNoAdviceOnFaults(t *testing.T) {
	t.Parallel()
	const file = "functions/notices/tool.json "
	for name, test := range map[string]struct {
		members string
		want    []string
	}{
		"unreadable": {`"inputSchema": "none", "description": " "`,
			[]string{file + "/description description-missing", file + "/inputSchema wrong-type"}},
		"readable": {`"inputSchema": {"type": "object", "properties": {"data": {"description": "Any data."}},
			"anyOf": [{"required": ["data"]}]}, "contract": {"maxResultBytes": 8192}`,
			[]string{file + "/inputSchema additional-properties", file + "/inputSchema/anyOf schema-root",
				file + "/inputSchema/properties/data parameter-vague", file + "/inputSchema/properties/data type-missing"}},
		"undescribed": {`"inputSchema": {"type": "object", "properties": {"data": {}}, "additionalProperties": false},
			"contract": {"maxResultBytes": 8192}`,
			[]string{file + "/inputSchema/properties/data parameter-description",
				file + "/inputSchema/properties/data type-missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := mustRun(t, folder(t, map[string]string{"notices": goodWith(t, test.members)}), Options{})
			got := places(report)
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesRestrictWhatIsShown(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"notices":       goodTool,
		"fetch_notices": goodWith(t, `"name": "find.notices", "title": "Other"`),
		"other": goodWith(t, `"name": "count_people", "title": null,
			"description": "Tells how many people work here. Use it for questions about the size of the company."`),
	})
	const (
		near   = "functions/notices/tool.json /description description-near"
		same   = "functions/notices/tool.json /name name-near"
		title  = "functions/other/tool.json  title-missing"
		dotted = "functions/fetch_notices/tool.json /name name-model-api"
	)
	for name, want := range map[string][]string{
		"":                             {dotted, near, same, title},
		"find_notices":                 {near, same},
		"notices":                      {near, same}, // the folder
		"find.notices":                 {dotted, near, same},
		"count_people":                 {title},
		"functions/other/":             {title},
		"count_people find.notices":    {dotted, near, same, title},
		"find_notices notices notices": {near, same},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := mustRun(t, dir, Options{Tools: strings.Fields(name)})
			got := places(report)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if len(report.Cost.Tools) != 3 {
				t.Errorf("the cost is of %d tools, want all", len(report.Cost.Tools))
			}
		})
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"notices": goodTool})
	for name, says := range map[string]string{
		"find_notises": "did you mean find_notices?",
		"xyzzy":        "allowed: notices, find_notices",
	} {
		if _, err := Run(dir, Options{Tools: []string{name}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
}

func TestLimitsOfTheServer(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"notices": goodTool})
	report := mustRun(t, dir, Options{Limits: contract.ServerLimits{MaxCallSeconds: 5}})
	wantPlaces(t, report, "functions/notices/tool.json /contract/execution/timeoutSeconds timeout-server")
}

func TestSuppressions(t *testing.T) {
	t.Parallel()
	const reason = `"reason": "Nobody is asked about it."`
	for name, test := range map[string]struct {
		suppress string
		want     []string
	}{
		"used": {`{"id": "title-missing", ` + reason + `}`,
			[]string{"  title-missing suppressed"}},
		"elsewhere": {`{"id": "title-missing", "pointer": "/inputSchema", ` + reason + `}`,
			[]string{"  title-missing", " /contract/suppress/0/id suppress-unused"}},
		"twice": {`{"id": "title-missing", ` + reason + `}, {"id": "title-missing", ` + reason + `}`,
			[]string{"  title-missing suppressed", " /contract/suppress/1/id suppress-unused"}},
		"misspelled": {`{"id": "title-mising", ` + reason + `}`,
			[]string{"  title-missing", " /contract/suppress/0/id suppress-unknown"}},
		"of an error": {`{"id": "name-charset", ` + reason + `}`,
			[]string{"  title-missing", " /contract/suppress/0/id suppress-error"}},
		"of what is unused": {`{"id": "suppress-unused", ` + reason + `}`,
			[]string{"  title-missing", " /contract/suppress/0/id suppress-unused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := mustRun(t, folder(t, map[string]string{
				"notices": goodWith(t, `"title": null, "contract": {"suppress": [`+test.suppress+`]}`),
			}), Options{})
			got := places(report)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "functions/notices/tool.json")
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// While anything has faults, nobody can say that a suppression is in vain: the other side of it may be what is broken.
func TestUnusedIsNotJudgedBesideFaults(t *testing.T) {
	t.Parallel()
	tools := map[string]string{"notices": goodWith(t,
		`"contract": {"suppress": [{"id": "name-near", "reason": "The old name is in use."}]}`)}
	dir := folder(t, tools)
	wantPlaces(t, mustRun(t, dir, Options{}), "functions/notices/tool.json /contract/suppress/0/id suppress-unused")
	write(t, filepath.Join(dir, "broken", "tool.json"), "{")
	wantPlaces(t, mustRun(t, dir, Options{}), "functions/broken/tool.json  json-syntax")
}

func TestServerSuppresses(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"notices": goodTool})
	write(t, filepath.Join(dir, "server.json"), `{"name": "notices", "version": "1",
		"instructions": "Call fetch_everything first.",
		"suppress": [{"id": "description-unknown-tool", "reason": "Another server of ours has it."}]}`)
	wantPlaces(t, mustRun(t, dir, Options{}),
		"functions/server.json /instructions description-unknown-tool suppressed")
}

func TestFilesAreNamedFrom(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"notices": goodWith(t, `"title": null`)})
	report := mustRun(t, dir, Options{})
	for from, want := range map[string]string{
		filepath.Dir(dir):               "functions/notices/tool.json",
		dir:                             "notices/tool.json",
		filepath.Dir(filepath.Dir(dir)): filepath.Base(filepath.Dir(dir)) + "/functions/notices/tool.json",
		filepath.Join(dir, "elsewhere"): filepath.ToSlash(filepath.Join(dir, "notices", "tool.json")),
	} {
		named, err := report.From(from)
		if err != nil {
			t.Fatal(err)
		}
		if got := named.Findings[0].File; got != want {
			t.Errorf("from %s: %s, want %s", from, got, want)
		}
		if got := named.Cost.Tools[0].File; got != want {
			t.Errorf("from %s: the cost is of %s, want %s", from, got, want)
		}
		again, err := named.From(filepath.Dir(dir))
		if err != nil || again.Findings[0].File != report.Findings[0].File {
			t.Errorf("there and back: %v, %v", again.Findings, err)
		}
	}
}

// Whatever a folder holds, Run looks at it: contracts in every state of being written, and those that the contract
// package's own tests break in every way.
func FuzzRun(f *testing.F) {
	broken, err := filepath.Glob(filepath.Join("..", "..", "shared", "contract", "testdata", "bad", "*", "tool.json"))
	if err != nil || len(broken) < 50 {
		f.Fatalf("found %d broken contracts: %v", len(broken), err)
	}
	for _, file := range broken {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(goodTool))
	f.Add([]byte(`{"name":1,"inputSchema":{"properties":[],"required":{},"enum":1,"items":[null]},"outputSchema":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := folder(t, map[string]string{"notices": goodTool, "other": string(text)})
		report := mustRun(t, dir, Options{})
		for _, finding := range report.Findings {
			if finding.Why == "" || finding.Source == "" {
				t.Errorf("%s is of no rule", finding.Problem)
			}
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	})
}
