package evaluate

import (
	"encoding/xml"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"patchbay/scripts/printable"
)

// Outcomes of a case.
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Report is what came of a run.
type Report struct {
	Tools   []ToolReport `json:"tools"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Calls   int          `json:"calls"`
	// Millis is how long the calls took, all together.
	Millis float64 `json:"durationMs"`
}

// ToolReport is what came of one file.
type ToolReport struct {
	Tool    string       `json:"tool"`
	File    string       `json:"file"`
	Cases   []CaseReport `json:"cases"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Calls   int          `json:"calls"`
	// Millis is how long the calls took, all together, and SlowestMillis the longest of them.
	Millis        float64 `json:"durationMs"`
	SlowestMillis float64 `json:"slowestMs"`
	// LargestResult is in bytes of JSON.
	LargestResult int `json:"largestResultBytes"`
}

// CaseReport is what came of one case.
type CaseReport struct {
	Name    string `json:"name"`
	Line    int    `json:"line"`
	Outcome string `json:"outcome"`
	// Reason is why it was skipped.
	Reason string `json:"reason,omitempty"`
	// Faults are what was not as expected, in one step.
	Faults        []Fault `json:"faults,omitempty"`
	Calls         int     `json:"calls"`
	Millis        float64 `json:"durationMs"`
	SlowestMillis float64 `json:"slowestMs"`
	LargestResult int     `json:"largestResultBytes"`
}

// Fault is one thing that was not as expected.
type Fault struct {
	// Line is that of the step.
	Line int    `json:"line"`
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// where is the fault with its place in a file, as one line.
func (f Fault) where(file string) string {
	return printable.Line(fmt.Sprintf("%s:%d %s: %s", file, f.Line, f.Tool, f.Text))
}

func (c *CaseReport) called(took time.Duration, size int) {
	millis := float64(took.Microseconds()) / 1000
	c.Calls++
	c.Millis += millis
	c.SlowestMillis = max(c.SlowestMillis, millis)
	c.LargestResult = max(c.LargestResult, size)
}

func (c *CaseReport) skip(reason string) { c.Outcome, c.Reason = Skipped, reason }

func (c *CaseReport) fail(step Step, faults []mismatch) {
	c.Outcome = Failed
	for _, fault := range faults {
		c.Faults = append(c.Faults, Fault{step.Line, step.Tool, fault.String()})
	}
}

func (t *ToolReport) add(c CaseReport) {
	t.Cases = append(t.Cases, c)
	count(c.Outcome, &t.Passed, &t.Failed, &t.Skipped)
	t.Calls += c.Calls
	t.Millis += c.Millis
	t.SlowestMillis = max(t.SlowestMillis, c.SlowestMillis)
	t.LargestResult = max(t.LargestResult, c.LargestResult)
}

func count(outcome string, passed, failed, skipped *int) {
	switch outcome {
	case Passed:
		*passed++
	case Failed:
		*failed++
	case Skipped:
		*skipped++
	}
}

func (r *Report) add(t ToolReport) {
	r.Tools = append(r.Tools, t)
	r.Passed += t.Passed
	r.Failed += t.Failed
	r.Skipped += t.Skipped
	r.Calls += t.Calls
	r.Millis += t.Millis
}

// WriteCase writes a case on a line, and below it what is not as expected. What servers said may be in it.
func WriteCase(w io.Writer, file File, c CaseReport) error {
	word := map[string]string{Passed: "ok     ", Failed: "failed ", Skipped: "skipped"}[c.Outcome]
	text := printable.Line(fmt.Sprintf("%s  %s: %s", word, file.Tool, c.Name)) + "\n"
	if c.Reason != "" {
		text += "         " + printable.Line(c.Reason) + "\n"
	}
	for _, fault := range c.Faults {
		text += "         " + fault.where(file.Path) + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// WriteTable writes a line for each tool: outcomes, calls, time and size.
func (r Report) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "passed\tfailed\tskipped\tcalls\ttime\tslowest\tlargest result\t  tool")
	for _, t := range r.Tools {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%s\t%s\t%d bytes\t  %s\n", t.Passed, t.Failed, t.Skipped, t.Calls,
			seconds(t.Millis), seconds(t.SlowestMillis), t.LargestResult, printable.Line(t.Tool))
	}
	fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%s\t\t\t  all\n", r.Passed, r.Failed, r.Skipped, r.Calls, seconds(r.Millis))
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func seconds(millis float64) string { return fmt.Sprintf("%.3f s", millis/1000) }

// The form of JUnit's reports that CI systems read: suites of cases, with failures and skips.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		File    string       `xml:"file,attr"`
		Line    int          `xml:"line,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitReason `xml:"failure"`
		Skipped *junitReason `xml:"skipped"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as CI systems read it.
func (r Report) WriteJUnit(w io.Writer) error {
	var suites junitSuites
	for _, t := range r.Tools {
		suite := junitSuite{
			Name: t.Tool, Tests: len(t.Cases), Failures: t.Failed, Skipped: t.Skipped, Time: junitTime(t.Millis),
		}
		for _, c := range t.Cases {
			suite.Cases = append(suite.Cases, newJUnitCase(t, c))
		}
		suites.Suites = append(suites.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	return nil
}

func newJUnitCase(t ToolReport, c CaseReport) junitCase {
	one := junitCase{Name: c.Name, Class: t.Tool, File: t.File, Line: c.Line, Time: junitTime(c.Millis)}
	if c.Outcome == Skipped {
		one.Skipped = &junitReason{Message: printable.Line(c.Reason)}
	}
	if c.Outcome != Failed {
		return one
	}
	one.Failure = &junitReason{Message: printable.Line(c.Faults[0].Text)}
	for _, fault := range c.Faults {
		one.Failure.Text += fault.where(t.File) + "\n"
	}
	return one
}

func junitTime(millis float64) string { return fmt.Sprintf("%.3f", millis/1000) }
