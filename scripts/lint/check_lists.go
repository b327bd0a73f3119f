package lint

import (
	"fmt"
	"slices"

	"patchbay/shared/contract"
)

func listRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "list-limit", Severity: warning,
			What: "A tool that returns a list bounds it.",
			Why: "A list without end fills the model's context; hosts cut it off where they like, Claude Code by default at " +
				"25,000 tokens.",
			Source: writingTools},
		{ID: "limit-bounds", Severity: warning,
			What:   "A limit has a default and a maximum.",
			Why:    "A model that leaves it out gets everything, and one that fears to miss something asks for a million.",
			Source: writingTools},
	}
}

func checkLists(c *Catalogue) contract.Problems {
	return each(c, func(t *contract.Tool) contract.Problems {
		given := parameters(schemaNodes(t.Input, "/inputSchema"))
		found := checkLimits(t, given)
		if slices.ContainsFunc(given, isBound) {
			return found
		}
		return append(found, checkUnbounded(t)...)
	})
}

// bounding are words in names of parameters by which a caller gets a part of a list.
var bounding = []string{"after", "before", "count", "cursor", "first", "last", "limit", "max", "offset",
	"page", "paging", "per", "since", "size", "skip", "start", "take", "top", "until"}

func isBound(p node) bool {
	return slices.ContainsFunc(splitWords(p.property), func(word string) bool { return slices.Contains(bounding, word) })
}

// listing are verbs whose results have as many entries as there are.
var listing = []string{"browse", "find", "list", "query", "search"}

func checkUnbounded(t *contract.Tool) contract.Problems {
	if maxResultBytesGiven(t) {
		return nil
	}
	_, word := verbOf(t.Name)
	lists := slices.Contains(listing, word)
	if t.Output == nil && lists {
		return contract.Problems{advise(t, "list-limit", "/inputSchema",
			`a parameter like "limit" with a default and a maximum, or "maxResultBytes" in the contract`,
			fmt.Sprintf("what %s returns has no bound", t.Name))}
	}
	for _, n := range schemaNodes(t.Output, "/outputSchema") {
		if isUnbounded(n) && (lists || holdsObjects(n) && isTrue(t.Annotations.ReadOnlyHint)) {
			return contract.Problems{advise(t, "list-limit", n.pointer,
				`a parameter like "limit" with a default and a maximum, or "maxItems" here`,
				fmt.Sprintf("the list %q has no bound, and a caller cannot ask for a part of it", n.property))}
		}
	}
	return nil
}

func isUnbounded(n node) bool { return n.top && n.is("array") && !n.has("maxItems") }

// maxResultBytesGiven reports whether the author bounded the result's size; the most that the contract allows is the
// default.
func maxResultBytesGiven(t *contract.Tool) bool {
	return t.Contract.MaxResultBytes > 0 && t.Contract.MaxResultBytes < contract.MaxRecordedResultBytes
}

func holdsObjects(n node) bool {
	items, _ := n.keywords["items"].(map[string]any)
	return items["type"] == "object" || items["properties"] != nil
}

// limits are names of parameters that say how many entries come back at most.
var limits = []string{"count", "first", "limit", "max_count", "max_items", "max_results", "page_size",
	"per_page", "top", "maxCount", "maxItems", "maxResults", "pageSize", "perPage"}

func checkLimits(t *contract.Tool, given []node) contract.Problems {
	if kind, _ := verbOf(t.Name); kind != verbReading && !isTrue(t.Annotations.ReadOnlyHint) {
		return nil
	}
	var found contract.Problems
	for _, p := range given {
		if !p.is("integer", "number") || !slices.Contains(limits, p.property) {
			continue
		}
		var missing []string
		for _, keyword := range []string{"default", "maximum"} {
			if !p.has(keyword) && !p.has("exclusiveMaximum") {
				missing = append(missing, keyword)
			}
		}
		if len(missing) > 0 {
			found = append(found, advise(t, "limit-bounds", p.pointer, `a "default" and a "maximum"`,
				fmt.Sprintf("%q has no %s", p.property, join(missing))))
		}
	}
	return found
}
