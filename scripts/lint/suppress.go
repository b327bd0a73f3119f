package lint

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

// suppressRules are about suppressions that do nothing. Only here are all checks known, and all were run.
func suppressRules() []contract.Rule {
	return []contract.Rule{
		{ID: suppressUnknown, Severity: contract.SeverityWarning,
			What:   "A suppression names a check that there is.",
			Why:    "A misspelled id suppresses nothing, now or later.",
			Source: reference},
		{ID: suppressUnused, Severity: contract.SeverityWarning,
			What:   "A suppression suppresses something.",
			Why:    "Left behind, it hides the next fault of its kind, for a reason that was another fault's.",
			Source: reference},
	}
}

const (
	suppressUnknown = "suppress-unknown"
	suppressUnused  = "suppress-unused"
)

// suppressions are those of all files, with what they were used for.
type suppressions struct {
	survey *contract.Survey
	used   map[string][]bool // by file, and as the file has them
}

func newSuppressions(survey *contract.Survey) *suppressions {
	s := &suppressions{survey: survey, used: map[string][]bool{}}
	for _, file := range survey.Files() {
		s.used[file] = make([]bool, len(survey.Suppressions(file)))
	}
	return s
}

// reason returns the reason for which a problem is suppressed; "" when it is not.
func (s *suppressions) reason(p contract.Problem) string {
	list := s.survey.Suppressions(p.File)
	i := slices.IndexFunc(list, func(by contract.Suppression) bool { return by.Covers(p) })
	if i < 0 {
		return ""
	}
	s.used[p.File][i] = true
	return list[i].Reason
}

// idle reports suppressions that did nothing. While there are errors not all can be judged: what a file with faults
// says was not looked at as a whole, nor held against the others.
func (s *suppressions) idle() contract.Problems {
	var found contract.Problems
	sound := s.survey.Problems.Err() == nil
	for _, file := range s.survey.Files() {
		for i, suppression := range s.survey.Suppressions(file) {
			at := suppressPointer(file) + "/" + strconv.Itoa(i) + "/id"
			switch _, known := Explain(suppression.ID); {
			case suppression.ID == "" || s.used[file][i]:
			case !known:
				found = append(found, unknownCheck(file, at, suppression.ID))
			case sound:
				found = append(found, contract.Problem{File: file, Pointer: at, ID: suppressUnused,
					Severity: contract.SeverityWarning, Allowed: "no such suppression",
					Message: fmt.Sprintf("%s is not found here, so there is nothing to suppress", suppression.ID)})
			}
		}
	}
	return found
}

// suppressPointer leads to the suppressions of a file: a tool's are in its contract.
func suppressPointer(file string) string {
	if folderOf(file) != "" {
		return "/contract/suppress"
	}
	return "/suppress"
}

func unknownCheck(file, pointer, id string) contract.Problem {
	p := contract.Problem{File: file, Pointer: pointer, ID: suppressUnknown, Severity: contract.SeverityWarning,
		Message: fmt.Sprintf("there is no check %q", id), Allowed: "the id of a warning; `tool lint --rules` lists them"}
	if near := NearRule(id); near != "" {
		p.Message += fmt.Sprintf("; %q is near", near)
	}
	return p
}

// Explain returns the rule of an id.
func Explain(id string) (Rule, bool) {
	rule, known := rulesByID()[id]
	return rule, known
}

// Findings are many, and the rules of a release are always the same.
var rulesByID = sync.OnceValue(func() map[string]Rule {
	rules := map[string]Rule{}
	for _, rule := range Rules() {
		rules[rule.ID] = rule
	}
	return rules
})

// NearRule returns the id of the rule that was most likely meant by an id that none has; "" when none is near.
func NearRule(id string) string {
	var ids []string
	for _, rule := range Rules() {
		ids = append(ids, rule.ID)
	}
	return nearest.Name(id, ids)
}
