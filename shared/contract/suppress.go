package contract

import (
	"slices"
	"strings"
)

// Suppression is what a file says of a warning that does not matter there. It is read by whatever shows warnings; it is
// not stored, and changes nothing about the tool.
type Suppression struct {
	// ID names the rule.
	ID string `json:"id"`
	// Pointer is the JSON Pointer (RFC 6901) at or below which the warning is suppressed; empty for the whole file.
	Pointer string `json:"pointer"`
	// Reason is a sentence for whoever reads the contract.
	Reason string `json:"reason"`
}

// Covers reports whether the suppression, in the file of the problem, is of that problem. It never is of an error.
func (s Suppression) Covers(p Problem) bool {
	return p.Severity == SeverityWarning && p.ID == s.ID && isWithin(p.Pointer, s.Pointer)
}

func isCovered(p Problem, list []Suppression) bool {
	return slices.ContainsFunc(list, func(s Suppression) bool { return s.Covers(p) })
}

// isWithin reports whether a JSON Pointer leads to the value of another one, or to something in it.
func isWithin(pointer, other string) bool {
	rest, within := strings.CutPrefix(pointer, other)
	return within && (rest == "" || rest[0] == '/')
}

// minReason is how many characters a reason needs, and a sentence has more than one word.
const minReason = 10

// pointerForm is RFC 6901, section 3.
var pointerForm = lazily(`^(/([^~/]|~[01])*)*$`)

func (c *checker) checkSuppressions(list []Suppression, pointer string) {
	for i, s := range list {
		at := item(pointer, i)
		if strings.TrimSpace(s.ID) == "" {
			c.report("suppress-form", at+"/id", `the id of a warning, like "name-model-api"`, "this names no check")
		}
		if !pointerForm.match(s.Pointer) {
			c.report("suppress-form", at+"/pointer", `a JSON Pointer like "/inputSchema/properties/group", or no field`,
				"%q is no JSON Pointer", s.Pointer)
		}
		if reason := strings.TrimSpace(s.Reason); len(reason) < minReason || !strings.Contains(reason, " ") {
			c.report("suppress-form", at+"/reason", "a sentence that says why the warning does not matter here",
				"a reason is missing, or says nothing")
		}
		if rule, known := Explain(s.ID); known && rule.Severity == SeverityError {
			c.report("suppress-error", at+"/id", "the id of a warning", "%s is an error, which has to be put right", s.ID)
		}
	}
}
