package lint

import (
	"fmt"
	"regexp"
	"strings"

	"patchbay/shared/contract"
)

func annotationRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "annotation-unsaid", Severity: warning,
			What:   "A tool says that it only reads, or whether it destroys.",
			Why:    "What is unsaid counts as the worst: as changing, and as destructive. Hosts ask people about it each time.",
			Source: toolAnnotations},
		{ID: "annotation-readonly-name", Severity: warning,
			What:   "A tool with readOnlyHint has no name of a change.",
			Why:    "Hosts run it without asking; one of the two is wrong.",
			Source: toolAnnotations},
		{ID: "annotation-readonly-missing", Severity: warning,
			What:   "A tool that by its name and contract only reads has readOnlyHint.",
			Why:    "Without the hint hosts ask a person before every look.",
			Source: toolAnnotations},
		{ID: "annotation-destructive-name", Severity: warning,
			What:   "A tool whose name destroys does not say that it only adds.",
			Why:    "\"destructiveHint\": false promises that nothing is lost.",
			Source: toolAnnotations},
		{ID: "annotation-openworld-name", Severity: warning,
			What:   "A tool that reaches the web does not say that it stays within its own data.",
			Why:    "Hosts trust results of a closed world; what strangers wrote may hold instructions for the model.",
			Source: toolAnnotations},
		{ID: "annotation-openworld-risk", Severity: warning,
			What:   "A tool that changes something in the open world is of more than low risk.",
			Why:    "Low risk leaves no audit record of what was done in your name.",
			Source: toolAnnotations + "; " + reference},
	}
}

func checkAnnotations(c *Catalogue) contract.Problems { return each(c, checkHints) }

// sayWeb finds words of a description that tell of the open world.
var sayWeb = regexp.MustCompile(`(?i)\b(the internet|the web|web ?(pages?|search)|web ?sites?|search engine|` +
	`public API|any URL|third[- ]party)\b`)

func checkHints(t *contract.Tool) contract.Problems {
	hints := t.Annotations
	found := checkUnsaid(t)
	kind, word := verbOf(t.Name)
	switch {
	case isTrue(hints.ReadOnlyHint) && (kind == verbChanging || kind == verbDestroying):
		found = append(found, advise(t, "annotation-readonly-name", "/annotations/readOnlyHint",
			"false, or a name that does not change anything",
			fmt.Sprintf("the tool is said to be read-only, but its name says %q", word)))
	case hints.ReadOnlyHint != nil && !*hints.ReadOnlyHint && kind == verbReading && onlyReads(&t.Contract):
		found = append(found, advise(t, "annotation-readonly-missing", "/annotations/readOnlyHint",
			`true, or "sideEffects" that say what changes`,
			fmt.Sprintf("the tool is said to change something, but its name says %q and its contract no side effect", word)))
	case kind == verbDestroying && isFalse(hints.DestructiveHint):
		found = append(found, advise(t, "annotation-destructive-name", "/annotations/destructiveHint",
			"true, or a name that does not destroy",
			fmt.Sprintf("the tool is said to destroy nothing, but its name says %q", word)))
	}
	said := sayWeb.FindString(t.Description)
	if said != "" && isFalse(hints.OpenWorldHint) && !denied(t.Description, said) {
		found = append(found, advise(t, "annotation-openworld-name", "/annotations/openWorldHint", "true",
			fmt.Sprintf("the tool is said to keep to its own data, but its description speaks of %q", said)))
	}
	if isTrue(hints.OpenWorldHint) && !isTrue(hints.ReadOnlyHint) && t.Contract.Risk == contract.RiskLow {
		found = append(found, advise(t, "annotation-openworld-risk", "/annotations/openWorldHint",
			`"risk": "medium" or above`, "the tool changes what lies outside, yet low risk leaves no audit record"))
	}
	return found
}

// checkUnsaid finds tools that count as destructive because they say nothing. That openWorldHint counts as true is what
// most tools mean.
func checkUnsaid(t *contract.Tool) contract.Problems {
	if isTrue(t.Annotations.ReadOnlyHint) || t.Annotations.DestructiveHint != nil {
		return nil
	}
	return contract.Problems{advise(t, "annotation-unsaid", "/annotations",
		`"readOnlyHint": true, or "destructiveHint" true or false`,
		"the tool says neither that it only reads nor whether it destroys")}
}

func onlyReads(k *contract.Contract) bool {
	return len(k.SideEffects) == 0 && k.Confirmation == contract.ConfirmationNever && k.DryRun == contract.DryRunNone
}

// denied reports whether a text says that the tool does not do what it names.
func denied(text, said string) bool {
	before, _, _ := strings.Cut(text, said)
	if i := strings.LastIndexAny(before, ".;:"); i >= 0 {
		before = before[i:]
	}
	words := splitWords(before)
	for _, word := range words {
		if word == "not" || word == "no" || word == "never" || word == "without" {
			return true
		}
	}
	return false
}

func isFalse(hint *bool) bool { return hint != nil && !*hint }

// join lists words as a sentence does.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
