package conformancesuite

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"patchbay/scripts/printable"
)

//go:embed expected-*.json
var lists embed.FS

// expectation is one entry of an expected-*.json file: checks that fail, by scenario, and why they do.
type expectation struct {
	Reason string              `json:"reason"`
	Checks map[string][]string `json:"checks"`
}

// expectedFailures holds the reason for each expected failure, by scenario and check.
type expectedFailures map[string]map[string]string

func loadExpected(revision string) (expectedFailures, error) {
	name := "expected-" + revision + ".json"
	data, err := lists.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the expected failures of revision %q: %w", revision, err)
	}
	return parseExpected(name, data)
}

func parseExpected(name string, data []byte) (expectedFailures, error) {
	var list []expectation
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", name, err)
	}
	expected := expectedFailures{}
	for _, e := range list {
		if e.Reason == "" {
			return nil, fmt.Errorf("%s: an entry has no reason", name)
		}
		for scenario, checks := range e.Checks {
			if err := expected.add(scenario, checks, e.Reason); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return expected, nil
}

func (e expectedFailures) add(scenario string, checks []string, reason string) error {
	if e[scenario] == nil {
		e[scenario] = map[string]string{}
	}
	if len(checks) == 0 {
		return fmt.Errorf("scenario %s names no check", scenario)
	}
	for _, id := range checks {
		if _, ok := e[scenario][id]; ok {
			return fmt.Errorf("scenario %s: check %s is listed twice", scenario, id)
		}
		e[scenario][id] = reason
	}
	return nil
}

// row is one scenario in the table.
type row struct {
	scenario                 string
	passed, failed, warnings int
	expected                 int // failures that are listed
	unexpected, stale        []string
	reasons                  []string
}

type verdict struct {
	rows           []row
	passed, failed int
	unexpected     int
	stale          int
}

func judge(scenarios []scenario, expected expectedFailures) verdict {
	var v verdict
	seen := map[string]bool{}
	for _, s := range scenarios {
		seen[s.name] = true
		v.add(judgeScenario(s, expected[s.name]))
	}
	// A listed scenario that the suite no longer runs is as misleading as one that passes.
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if !seen[name] {
			v.add(judgeScenario(scenario{name: name}, expected[name]))
		}
	}
	return v
}

func judgeScenario(s scenario, expected map[string]string) row {
	r := row{scenario: s.name}
	failing := map[string]bool{}
	for _, c := range s.checks {
		switch c.Status {
		case statusSuccess:
			r.passed++
		case statusWarning:
			r.warnings++
		case statusFailure:
			r.failed++
			failing[c.ID] = true
			if reason, ok := expected[c.ID]; ok {
				r.expect(reason)
			} else {
				r.unexpected = append(r.unexpected, c.ID+": "+c.ErrorMessage)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(expected)) {
		if !failing[id] {
			r.stale = append(r.stale, id)
		}
	}
	return r
}

func (r *row) expect(reason string) {
	r.expected++
	if !slices.Contains(r.reasons, reason) {
		r.reasons = append(r.reasons, reason)
	}
}

func (v *verdict) add(r row) {
	v.rows = append(v.rows, r)
	v.passed += r.passed
	v.failed += r.failed
	v.unexpected += len(r.unexpected)
	v.stale += len(r.stale)
}

// status is the row's verdict in a word.
func (r *row) status() string {
	switch {
	case len(r.unexpected) > 0:
		return "FAILED"
	case len(r.stale) > 0:
		return "PASSED, but listed as an expected failure"
	case r.expected > 0:
		return "expected failure"
	case r.warnings > 0:
		return fmt.Sprintf("ok (warnings: %d)", r.warnings)
	}
	return "ok"
}

func (v *verdict) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scenario\tpassed\tfailed\tstatus")
	for _, r := range v.rows {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", r.scenario, r.passed, r.failed, r.status())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	v.printReasons(out)
	for _, r := range v.rows {
		for _, problem := range r.unexpected {
			fmt.Fprintf(out, "\nFAILED %s\n  %s\n", r.scenario, printable.Lines(problem, "  "))
		}
		for _, id := range r.stale {
			fmt.Fprintf(out, "\nLISTED but not failing: %s, check %s\n", r.scenario, id)
		}
	}
	_, err := fmt.Fprintf(out, "\n%d passed, %d failed\n", v.passed, v.failed)
	return err
}

// printReasons says once for each reason which scenarios fail for it.
func (v *verdict) printReasons(out io.Writer) {
	var order []string
	scenarios := map[string][]string{}
	for _, r := range v.rows {
		for _, reason := range r.reasons {
			if scenarios[reason] == nil {
				order = append(order, reason)
			}
			scenarios[reason] = append(scenarios[reason], r.scenario)
		}
	}
	for _, reason := range order {
		fmt.Fprintf(out, "\nExpected in %d scenarios: %s\n", len(scenarios[reason]), reason)
	}
}

func (v *verdict) err() error {
	if v.unexpected == 0 && v.stale == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d checks failed that are not listed, %d listed failures did not occur", ErrUnexpected,
		v.unexpected, v.stale)
}
