package contract

// Unenforced returns an error for everything in the contract that this release parses but does not keep: publishing it
// would promise what nobody keeps. Publishers refuse a tool for which it returns any.
func (t *Tool) Unenforced() Problems {
	k := &t.Contract
	promises := []struct {
		made           bool
		pointer, field string
	}{
		{k.Risk.NeedsConfirmation(), "/contract/risk", "the confirmation of " + string(k.Risk) + " risk"},
		{k.Confirmation == ConfirmationAlways && !k.Risk.NeedsConfirmation(), "/contract/confirmation", "confirmation"},
		{k.StepUp != nil, "/contract/stepUp", "stepUp"},
		{k.DryRun != DryRunNone, "/contract/dryRun", "dryRun"},
		{k.RateLimit != nil, "/contract/rateLimit", "rateLimit"},
	}
	var problems Problems
	for _, p := range promises {
		if p.made {
			problems = append(problems, problem(t.File, "not-enforced-yet", p.pointer,
				"the contract without it, until a release that enforces it",
				"this release does not enforce "+p.field+", so publishing it would promise what nobody keeps"))
		}
	}
	return problems.sorted()
}
