package lint

// checks are the looks at a catalogue that Run takes beside those of the contract package: one function for each
// subject, in the order of adviceRules.
func checks() []check {
	return []check{checkNames, checkDescriptions, checkParameters, checkSchemas, checkLists, checkAnnotations, checkCalls,
		checkCost}
}
