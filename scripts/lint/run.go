package lint

import (
	"patchbay/shared/contract"
)

// Options say what Run looks for, and by whose measure.
type Options struct {
	// Tools are the names of the tools whose findings are wanted, or of their folders; empty for all. All tools are
	// looked at in any case, since some faults are between two of them.
	Tools []string
	// Limits are the server's.
	Limits contract.ServerLimits
	// Estimator counts tokens.
	Estimator Estimator
}

// Finding is one fault that was found.
type Finding struct {
	contract.Problem
	// Suppressed is the reason for which the contract suppresses the finding; empty when it does not.
	Suppressed string `json:"suppressed,omitempty"`
}

// Report is what Run found.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Run looks at a folder of tools. Its error is that of a look that could not be taken; faults are findings.
func Run(functions string, options Options) (Report, error) {
	set, problems := contract.LoadDir(functions)
	if set != nil {
		catalogue := &Catalogue{Server: set.Server, Tools: set.Tools, Estimator: options.Estimator}
		for _, look := range checks() {
			problems = append(problems, look(catalogue)...)
		}
	}
	report := Report{}
	for _, problem := range problems {
		report.Findings = append(report.Findings, Finding{Problem: problem})
	}
	return report, nil
}
