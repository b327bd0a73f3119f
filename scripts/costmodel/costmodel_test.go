package costmodel

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The figures of the design's own calculation: see the cost model there.
func TestTypicalCall(t *testing.T) {
	t.Parallel()
	if got := Total(Typical().Calls()); got != 4.61 {
		t.Errorf("a million calls cost %g, want 4.61", got)
	}
	further := map[string]float64{}
	for _, row := range Typical().Further() {
		further[row.What] = row.USD
	}
	if got := further["recorded calls (idempotency), results of 1 KB"]; got != 2 {
		t.Errorf("recording costs %g, want 1 read and 3 writes: 2.00", got)
	}
	if got := further["the authorizer, 2 ms at 256 MB, with its requests"]; got < 0.2 || got > 0.21 {
		t.Errorf("an authorizer costs %g, want 0.20 for its requests and less than a cent for 2 ms", got)
	}
	saved := further["what a cache of its answers would save of that, with 90 % hits; it is off"]
	if saved > -0.18 || saved < -0.19 {
		t.Errorf("a cache saves %g, want nine tenths of the authorizer's cost", saved)
	}
	if got := further["log lines of 2 KB"]; got != 1 {
		t.Errorf("logs cost %g, want 1", got)
	}
}

// Three alarms and four metrics, as package patchbaycdk makes them.
func TestWhatWatchesTheAuthorizer(t *testing.T) {
	t.Parallel()
	if got := Typical().MonthlyFurther()[0].USD; got != 1.5 {
		t.Errorf("watching an authorizer costs %g a month, want 3 alarms and 4 metrics: 1.50", got)
	}
}

// Durations and memory multiply; a result takes whole write units.
func TestWhatCostsGrowWith(t *testing.T) {
	t.Parallel()
	slow := Typical()
	slow.ToolMS, slow.ToolMB = 10_000, 1024
	rows := slow.Calls()
	if got := rows[4].USD; got < 133 || got > 134 {
		t.Errorf("10 s at 1 GB cost %g, want 133.33", got)
	}
	if got := rows[2].USD; got < 33 || got > 34 {
		t.Errorf("a dispatcher that waits 10 s costs %g, want 33.4", got)
	}
	for kb, want := range map[float64]float64{0: 1, 0.1: 1, 1: 1, 1.5: 2, 40: 40} {
		if got := units(kb, 1); got != want {
			t.Errorf("%g KB are %g units, want %g", kb, got, want)
		}
	}
}

func TestCheckRefusesNonsense(t *testing.T) {
	t.Parallel()
	if err := Typical().Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Workload){
		"the tool's duration is 0": func(w *Workload) { w.ToolMS = 0 },
		"overhead is -1":           func(w *Workload) { w.OverheadMS = -1 },
	} {
		w := Typical()
		change(&w)
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOverheadOfMeasuredCalls(t *testing.T) {
	t.Parallel()
	got, err := Overhead([]byte(`{"rows":[{"part":"b","what":"warm call, 1 client, p99","unit":"ns","measured":9e6},
		{"part":"b","what":"warm call, 1 client, p50","unit":"ns","measured":2.8e6}]}`))
	if err != nil || got != 2.8 {
		t.Errorf("got %g, %v", got, err)
	}
	measured := []byte(`{"rows":[{"part":"h","what":"of that: the authorizer","unit":"ns","measured":1.2e6}]}`)
	if got, err := Authorizer(measured); err != nil || got != 2 {
		t.Errorf("an authorizer that takes 1.2 ms is billed %g ms, %v, want 2", got, err)
	}
	for _, bad := range []string{`{}`, `x`} {
		if got, err := Overhead([]byte(bad)); err == nil {
			t.Errorf("%s gives %g", bad, got)
		}
	}
	// The names of the figures are the bench's.
	for file, name := range map[string]string{"warm.go": `"warm call, %s, p%d"`, "authorizer.go": `"` + authorizer + `"`} {
		source, err := os.ReadFile("../benchmark/" + file)
		if err != nil || !strings.Contains(string(source), name) {
			t.Errorf("bench does not call its figure %s any more: %v", name, err)
		}
	}
}

var (
	table  = regexp.MustCompile("(?s)<!-- cost -->\n(.*?)\n<!-- /cost -->")
	priced = regexp.MustCompile("(?s)<!-- prices -->\n(.*?)\n<!-- /prices -->")
)

// What the documentation says of costs is what the command says.
func TestTablesInTheDocumentation(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range []string{"README.md", "docs/operate.md"} {
		content, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		for want, marked := range map[string]*regexp.Regexp{Typical().Markdown(): table, PricesMarkdown(): priced} {
			for _, match := range marked.FindAllStringSubmatch(string(content), -1) {
				found++
				if strings.TrimSpace(match[1]) != strings.TrimSpace(want) {
					t.Errorf("a table of %s is stale; `go tool patchbay cost --prices` prints:\n%s", name, want)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("the documentation has %d tables of costs between <!-- cost --> marks, want the costs and the prices", found)
	}
}
