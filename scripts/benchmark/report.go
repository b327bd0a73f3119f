package benchmark

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is the outcome of a run.
type Report struct {
	// Machine says where it was measured.
	Machine string `json:"machine"`
	// Short is set for a run with fewer rounds, whose figures are rougher.
	Short bool  `json:"short"`
	Rows  []Row `json:"rows"`
}

// Row is one figure beside its anchor.
type Row struct {
	// Part is the letter of the part that it belongs to.
	Part string `json:"part"`
	What string `json:"what"`
	// Unit is that of Measured and Anchor: "ns", "bytes", "allocations" or "requests".
	Unit     string  `json:"unit"`
	Measured float64 `json:"measured"`
	// AnchorName says what Anchor is; empty when the figure has none, and its goal is a bound of its own.
	AnchorName string  `json:"anchorName,omitempty"`
	Anchor     float64 `json:"anchor,omitempty"`
	// Ratio is Measured by Anchor.
	Ratio float64 `json:"ratio,omitempty"`
	// Goal is the most that Ratio may be, or Measured where there is no anchor; 0 where there is no goal.
	Goal float64 `json:"goal,omitempty"`
	// None says that the goal is to have none at all, which a Goal of 0 does not.
	None bool `json:"none,omitempty"`
	// Met says whether the goal is met; absent where there is none.
	Met *bool `json:"met,omitempty"`
	// Rounds are the figures of the single rounds that Measured and Anchor are the medians of, where there were some.
	Rounds       []float64 `json:"rounds,omitempty"`
	AnchorRounds []float64 `json:"anchorRounds,omitempty"`
}

// Units of rows.
const (
	nanoseconds = "ns"
	octets      = "bytes"
	allocations = "allocations"
	requests    = "requests"
)

func newReport(short bool) *Report { return &Report{Machine: machine(), Short: short} }

// add completes a row and appends it.
func (r *Report) add(row Row) {
	bounded := row.Measured
	if row.Anchor > 0 {
		row.Ratio = row.Measured / row.Anchor
		bounded = row.Ratio
	}
	if row.Goal > 0 || row.None {
		met := bounded <= row.Goal
		row.Met = &met
	}
	r.Rows = append(r.Rows, row)
}

// Missed returns the rows whose goal is not met.
func (r *Report) Missed() []Row {
	var missed []Row
	for _, row := range r.Rows {
		if row.Met != nil && !*row.Met {
			missed = append(missed, row)
		}
	}
	return missed
}

// WriteTable writes the rows for people.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", r.Machine)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\twhat\tmeasured\tanchor\tratio\tgoal\tmet")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Part, row.What, amount(row.Measured, row.Unit),
			row.anchor(), row.ratio(), row.goal(), row.met())
	}
	return table.Flush()
}

func (r *Row) anchor() string {
	if r.AnchorName == "" {
		return ""
	}
	return amount(r.Anchor, r.Unit) + " " + r.AnchorName
}

func (r *Row) ratio() string {
	if r.Anchor == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", r.Ratio)
}

func (r *Row) goal() string {
	switch {
	case r.None:
		return "none"
	case r.Goal == 0:
		return ""
	case r.Anchor == 0:
		return "≤ " + amount(r.Goal, r.Unit)
	}
	return fmt.Sprintf("≤ %g", r.Goal)
}

func (r *Row) met() string {
	switch {
	case r.Met == nil:
		return ""
	case *r.Met:
		return "yes"
	}
	return "no"
}

// amount writes a figure with three or four digits.
func amount(value float64, unit string) string {
	switch unit {
	case nanoseconds:
		return scaled(value, []string{"ns", "µs", "ms", "s"})
	case octets:
		return scaled(value, []string{"B", "KB", "MB", "GB"})
	}
	return fmt.Sprintf("%.0f", value)
}

func scaled(value float64, units []string) string {
	for value >= 1000 && len(units) > 1 {
		value /= 1000
		units = units[1:]
	}
	switch {
	case value < 10:
		return fmt.Sprintf("%.2f %s", value, units[0])
	case value < 100:
		return fmt.Sprintf("%.1f %s", value, units[0])
	}
	return fmt.Sprintf("%.0f %s", value, units[0])
}
