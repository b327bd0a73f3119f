package metrics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/metrics"
	"patchbay/shared/schema"
)

var start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

func options() metrics.Options {
	return metrics.Options{
		Namespace: "Patchbay", Deployment: "desk-prod", Now: func() time.Time { return start },
	}
}

// document is what CloudWatch reads of a line.
type document struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
}

// extract does what CloudWatch does with a line: it returns its data points as "dimension=value … Name=value Unit",
// sorted, or what makes the line no document of the format.
func extract(line []byte) ([]string, error) {
	format, err := os.ReadFile(filepath.Join("testdata", "emf.schema.json"))
	if err != nil {
		return nil, err
	}
	compiled, err := schema.Compile(format, schema.Limits{})
	if err != nil {
		return nil, err
	}
	if err := compiled.Validate(line); err != nil {
		return nil, err
	}
	var (
		doc     document
		members map[string]any
		points  []string
	)
	if err := json.Unmarshal(line, &doc); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	for _, directive := range doc.AWS.CloudWatchMetrics {
		for _, set := range directive.Dimensions {
			prefix := directive.Namespace
			for _, dimension := range set {
				value, ok := members[dimension].(string)
				if !ok || value == "" || len(value) > 1024 {
					return nil, fmt.Errorf("the dimension %s has the value %v", dimension, members[dimension])
				}
				prefix += " " + dimension + "=" + value
			}
			for _, metric := range directive.Metrics {
				value, ok := members[metric.Name].(float64)
				if !ok {
					return nil, fmt.Errorf("the metric %s has the value %v", metric.Name, members[metric.Name])
				}
				points = append(points, fmt.Sprintf("%s %s=%v %s", prefix, metric.Name, value, metric.Unit))
			}
		}
	}
	slices.Sort(points)
	if len(slices.Compact(slices.Clone(points))) != len(points) {
		return nil, fmt.Errorf("a data point is there twice: %v", points)
	}
	return points, nil
}

// linesOf returns the data points of each line that write wrote, after the one of the cold start.
func linesOf(t *testing.T, write func(*metrics.Writer)) [][]string {
	t.Helper()
	var out bytes.Buffer
	w := metrics.New(&out, options())
	w.Request(metrics.Request{})
	out.Reset()
	write(w)
	var lines [][]string
	for line := range bytes.Lines(out.Bytes()) {
		points, err := extract(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, points)
	}
	return lines
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write func(*metrics.Writer)
		want  [][]string
	}{
		"a call": {func(w *metrics.Writer) { w.Call(metrics.Call{Tool: "greet", Duration: 12345 * time.Microsecond}) },
			[][]string{{
				"Patchbay deployment=desk-prod Calls=1 Count",
				"Patchbay deployment=desk-prod Duration=12.345 Milliseconds",
				"Patchbay deployment=desk-prod tool=greet Calls=1 Count",
				"Patchbay deployment=desk-prod tool=greet Duration=12.345 Milliseconds",
			}}},
		"a refused call": {func(w *metrics.Writer) { w.Call(metrics.Call{Tool: "greet", Refusal: "rate_limited"}) },
			[][]string{{
				"Patchbay deployment=desk-prod Calls=1 Count",
				"Patchbay deployment=desk-prod Duration=0 Milliseconds",
				"Patchbay deployment=desk-prod Refusals=1 Count",
				"Patchbay deployment=desk-prod reason=rate_limited Refusals=1 Count",
				"Patchbay deployment=desk-prod tool=greet Calls=1 Count",
				"Patchbay deployment=desk-prod tool=greet Duration=0 Milliseconds",
				"Patchbay deployment=desk-prod tool=greet Refusals=1 Count",
			}}},
		"a call of no tool": {func(w *metrics.Writer) { w.Call(metrics.Call{Refusal: "unknown_tool"}) },
			[][]string{{
				"Patchbay deployment=desk-prod Calls=1 Count",
				"Patchbay deployment=desk-prod Duration=0 Milliseconds",
				"Patchbay deployment=desk-prod Refusals=1 Count",
				"Patchbay deployment=desk-prod reason=unknown_tool Refusals=1 Count",
			}}},
		"everything at once": {func(w *metrics.Writer) {
			w.Call(metrics.Call{Duration: time.Hour, Error: true, Replay: true, OutcomeUnknown: true, LedgerUnavailable: true})
		}, [][]string{{
			"Patchbay deployment=desk-prod Calls=1 Count",
			"Patchbay deployment=desk-prod Duration=3.6e+06 Milliseconds",
			"Patchbay deployment=desk-prod Errors=1 Count",
			"Patchbay deployment=desk-prod LedgerUnavailable=1 Count",
			"Patchbay deployment=desk-prod OutcomeUnknown=1 Count",
			"Patchbay deployment=desk-prod Replays=1 Count",
		}}},
		"a refused request": {func(w *metrics.Writer) { w.Request(metrics.Request{Refusal: "origin_not_allowed"}) },
			[][]string{{
				"Patchbay deployment=desk-prod Refusals=1 Count",
				"Patchbay deployment=desk-prod reason=origin_not_allowed Refusals=1 Count",
			}}},
		"a failed request": {func(w *metrics.Writer) { w.Request(metrics.Request{Error: true}) },
			[][]string{{"Patchbay deployment=desk-prod Errors=1 Count"}}},
		"nothing to say": {func(w *metrics.Writer) { w.Request(metrics.Request{}) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, linesOf(t, test.write)); diff != "" {
				t.Errorf("data points (-want +got):\n%s", diff)
			}
		})
	}
}

// The first line of a process counts its cold start, whatever else it says, and no other does.
func TestColdStart(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*metrics.Writer){
		"with a call":    func(w *metrics.Writer) { w.Call(metrics.Call{Tool: "greet", Refusal: "declined"}) },
		"with a request": func(w *metrics.Writer) { w.Request(metrics.Request{}) },
	} {
		var out bytes.Buffer
		w := metrics.New(&out, options())
		write(w)
		points, err := extract(out.Bytes())
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, &out)
		}
		if !slices.Contains(points, "Patchbay deployment=desk-prod ColdStarts=1 Count") {
			t.Errorf("%s: %v", name, points)
		}
		write(w)
		if n := strings.Count(out.String(), `"ColdStarts":1`); n != 1 {
			t.Errorf("%s: %d cold starts: %s", name, n, &out)
		}
	}
}

// A line, once, as it stands, so that a reader of this test sees one.
func TestLineAsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	metrics.New(&out, options()).Call(metrics.Call{Tool: "greet", Duration: time.Millisecond, Refusal: "rate_limited"})
	const common = `{"Namespace":"Patchbay","Dimensions":[`
	const want = `{"_aws":{"Timestamp":1785240000000,"CloudWatchMetrics":[` +
		common + `["deployment"],["deployment","tool"]],"Metrics":[{"Name":"Calls","Unit":"Count"},` +
		`{"Name":"Duration","Unit":"Milliseconds"},{"Name":"Refusals","Unit":"Count"}]},` +
		common + `["deployment"]],"Metrics":[{"Name":"ColdStarts","Unit":"Count"}]},` +
		common + `["deployment","reason"]],"Metrics":[{"Name":"Refusals","Unit":"Count"}]}]},"log":"metrics",` +
		`"deployment":"desk-prod","tool":"greet","reason":"rate_limited","Calls":1,"Duration":1,"Refusals":1,` +
		`"ColdStarts":1}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestNoWriterWritesNothing(t *testing.T) {
	t.Parallel()
	var w *metrics.Writer
	w.Call(metrics.Call{Tool: "greet"})
	w.Request(metrics.Request{Error: true})
}

// whole fails where it is given anything but whole lines.
type whole struct {
	t  *testing.T
	mu sync.Mutex
	n  int
}

func (w *whole) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	if _, err := extract(p); err != nil || bytes.Count(p, []byte("\n")) != 1 {
		w.t.Errorf("%v: %s", err, p)
	}
	return len(p), nil
}

func TestConcurrentCallsWriteWholeLines(t *testing.T) {
	t.Parallel()
	out := &whole{t: t}
	w := metrics.New(out, options())
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			w.Call(metrics.Call{Tool: fmt.Sprint("tool_", i), Duration: time.Duration(i) * time.Millisecond, Error: i%2 == 0})
		})
	}
	group.Wait()
	if out.n != 20 {
		t.Errorf("%d lines, want 20", out.n)
	}
}

func TestCheckNamespace(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"Patchbay", "acme/Patchbay", "a", "A 1.2_3#4:5-6"} {
		if err := metrics.CheckNamespace(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "AWS/Lambda", ":x", " x", "é", "a\nb", strings.Repeat("x", 256)} {
		if err := metrics.CheckNamespace(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	w := metrics.New(io.Discard, metrics.Options{Namespace: "Patchbay", Deployment: "desk-prod"})
	b.ReportAllocs()
	for b.Loop() {
		w.Call(metrics.Call{Tool: "greet", Duration: 12 * time.Millisecond})
	}
}
