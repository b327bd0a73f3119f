package lint

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

// Options say what Run looks for, and by whose measure. The zero value is of use.
type Options struct {
	// Tools are the names of the tools whose findings are wanted, or of their folders; empty for all. All tools are
	// looked at in any case, since some faults are between two of them.
	Tools []string
	// Limits are the server's.
	Limits contract.ServerLimits
	// Estimator counts tokens; nil means O200kBase.
	Estimator Estimator
}

// Finding is one fault that was found.
type Finding struct {
	contract.Problem
	// Tool is the name of the tool at fault; empty when it is none, or its name could not be read.
	Tool string `json:"tool,omitempty"`
	// Why it matters and Source, where that is laid down, are those of the rule.
	Why    string `json:"why"`
	Source string `json:"source"`
	// Suppressed is the reason for which the file suppresses the finding; empty when it does not.
	Suppressed string `json:"suppressed,omitempty"`
	// Region is the fault's place with its end; the zero value when that is not known.
	Region contract.Region `json:"-"`
	// RelatedRegion is where the other side of the fault is, in the file Related.
	RelatedRegion contract.Region `json:"-"`
}

// Report is what Run found.
type Report struct {
	// Tools is how many tools were asked for, those that could not be read included.
	Tools int `json:"tools"`
	// Findings are in the order of files and places, those that are suppressed included.
	Findings []Finding `json:"findings"`
	// Errors, Warnings and Suppressed count the findings, each in one of them.
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	Suppressed int `json:"suppressed"`
	// Cost is of all tools, whichever were asked for.
	Cost Cost `json:"cost"`

	folder string // the absolute path of the folder that holds the functions folder, from which files are named
}

// Run looks at a folder of tools. Its error is that of a look that could not be taken; faults are findings.
func Run(functions string, options Options) (Report, error) {
	absolute, err := filepath.Abs(functions)
	if err != nil {
		return Report{}, fmt.Errorf("locating the functions folder: %w", err)
	}
	r := &run{Survey: contract.Look(absolute, options.Limits)}
	wanted, err := r.wanted(options.Tools)
	if err != nil {
		return Report{}, err
	}
	catalogue := &Catalogue{Server: r.Server, Tools: r.Tools,
		Estimator: remember(cmp.Or[Estimator](options.Estimator, O200kBase()))}
	problems := append(r.Problems, r.advice(catalogue)...)
	report := Report{Tools: len(wanted), folder: filepath.Dir(absolute)}
	for _, finding := range r.findings(problems) {
		if len(options.Tools) == 0 || wanted[finding.File] || wanted[finding.Related] {
			report.add(finding)
		}
	}
	if report.Cost, err = Count(catalogue); err != nil {
		return Report{}, err
	}
	return report, nil
}

func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	switch {
	case f.Suppressed != "":
		r.Suppressed++
	case f.Severity == contract.SeverityError:
		r.Errors++
	default:
		r.Warnings++
	}
}

// run is a folder of tools with what is found in it.
type run struct{ *contract.Survey }

// wanted returns the files of the tools that are named, all where none is.
func (r *run) wanted(names []string) (map[string]bool, error) {
	files, known := map[string]string{}, []string{}
	for _, file := range r.Files() {
		if folder := folderOf(file); folder != "" {
			files[folder] = file
			known = append(known, folder)
		}
	}
	for _, t := range r.Tools {
		if t.Name != "" && files[t.Name] == "" {
			files[t.Name] = t.File
			known = append(known, t.Name)
		}
	}
	wanted := map[string]bool{}
	if len(names) == 0 {
		for _, file := range files {
			wanted[file] = true
		}
	}
	var unknown []error
	for _, name := range names {
		file, found := files[filepath.Base(name)] // a shell completes folders as paths
		if !found {
			unknown = append(unknown, unknownName(name, known))
			continue
		}
		wanted[file] = true
	}
	return wanted, errors.Join(unknown...)
}

// folderOf returns the name of the folder of a tool.json, named as in problems; "" for another file.
func folderOf(file string) string {
	if filepath.Base(file) != "tool.json" {
		return ""
	}
	return filepath.Base(filepath.Dir(file))
}

func unknownName(name string, known []string) error {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Errorf("there is no tool and no folder %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no tool and no folder %q; allowed: %s", name, strings.Join(known, ", "))
}

// advice is what the checks of this package find, without what only follows from an error.
func (r *run) advice(catalogue *Catalogue) contract.Problems {
	faults := r.Problems.Errors()
	var found contract.Problems
	for _, check := range checks() {
		found = append(found, check(catalogue)...)
	}
	return slices.DeleteFunc(found, func(advice contract.Problem) bool {
		return slices.ContainsFunc(faults, func(fault contract.Problem) bool { return follows(advice, fault) })
	})
}

// unreadable are the errors after which nothing sensible can be said of a value, or of what lies in it.
var unreadable = []string{"wrong-type", "wrong-value", "duplicate-key", "duplicate-tool", "schema-invalid"}

// follows reports whether advice would only repeat an error: it is about a value that could not be read, or about the
// same thing at the same place, as a description that is missing and one that does not say when to use the tool.
func follows(advice, fault contract.Problem) bool {
	if advice.File != fault.File {
		return false
	}
	if advice.Pointer == fault.Pointer {
		subject, _, _ := strings.Cut(fault.ID, "-")
		return slices.Contains(unreadable, fault.ID) || strings.HasPrefix(advice.ID, subject+"-")
	}
	return slices.Contains(unreadable, fault.ID) && strings.HasPrefix(advice.Pointer, fault.Pointer+"/")
}

// findings makes findings of problems, and of suppressions that do nothing, in the order of files and places.
func (r *run) findings(problems contract.Problems) []Finding {
	names := map[string]string{}
	for _, t := range r.Tools {
		names[t.File] = t.Name
	}
	suppressions := newSuppressions(r.Survey)
	found := make([]Finding, 0, len(problems))
	for _, p := range problems {
		found = append(found, Finding{Problem: p, Suppressed: suppressions.reason(p)})
	}
	for _, p := range suppressions.idle() {
		found = append(found, Finding{Problem: p})
	}
	for i := range found {
		f := &found[i]
		f.Tool = names[f.File]
		f.Region = r.Region(f.File, f.Pointer)
		if f.Line == 0 {
			f.Line, f.Column = f.Region.Line, f.Region.Column
		}
		if f.Related != "" {
			f.RelatedRegion = r.Region(f.Related, f.Pointer)
		}
		if rule, known := Explain(f.ID); known {
			f.Why, f.Source = rule.Why, rule.Source
		}
	}
	slices.SortStableFunc(found, inOrder)
	return found
}

func inOrder(a, b Finding) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		strings.Compare(a.ID, b.ID), strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
}

// From returns the report with its files named from a folder, in slashes; files that are not in it have their whole
// path.
func (r Report) From(folder string) (Report, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return Report{}, fmt.Errorf("locating %s: %w", folder, err)
	}
	name := func(file string) string {
		path := filepath.FromSlash(file)
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.folder, path)
		}
		if relative, err := filepath.Rel(absolute, path); err == nil && filepath.IsLocal(relative) {
			path = relative
		}
		return filepath.ToSlash(path)
	}
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.File = name(f.File)
		if f.Related != "" {
			f.Related = name(f.Related)
		}
	}
	r.Cost.Tools = slices.Clone(r.Cost.Tools)
	for i := range r.Cost.Tools {
		r.Cost.Tools[i].File = name(r.Cost.Tools[i].File)
	}
	r.folder = absolute
	return r, nil
}

// remember is an estimator that counts a text once, since its size is both judged and told.
func remember(estimator Estimator) Estimator { return &memory{estimator, map[string]int{}} }

type memory struct {
	Estimator
	counts map[string]int
}

// Count implements Estimator.
func (m *memory) Count(text string) (int, error) {
	if count, known := m.counts[text]; known {
		return count, nil
	}
	count, err := m.Estimator.Count(text)
	if err == nil {
		m.counts[text] = count
	}
	return count, err
}
