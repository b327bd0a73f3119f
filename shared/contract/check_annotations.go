package contract

import "patchbay/shared/mcp"

// checkAnnotations holds the hints that clients see against the contract that is kept: a client that trusts a hint must
// not be surprised by what the call does. Source of the hints' meaning: schema 2026-07-28, ToolAnnotations.
func (c *checker) checkAnnotations(t *Tool) {
	if isTrue(t.Annotations.ReadOnlyHint) {
		c.checkReadOnly(t.Annotations, &t.Contract)
		return
	}
	if isTrue(t.Annotations.DestructiveHint) && t.Contract.Risk == RiskLow {
		c.report("annotation-destructive-risk", "/annotations/destructiveHint", `"risk": "medium" or above`,
			"the tool is said to destroy, and yet to be of low risk, which is neither audited nor confirmed")
	}
	if isTrue(t.Annotations.IdempotentHint) {
		c.checkIdempotentHint(&t.Contract)
	}
}

func (c *checker) checkReadOnly(hints mcp.ToolAnnotations, k *Contract) {
	const pointer, allowed = "/annotations/readOnlyHint", "false, or a contract that changes nothing"
	if isTrue(hints.DestructiveHint) {
		c.report("annotation-readonly-destructive", "/annotations/destructiveHint", "only one of the two",
			"a tool cannot be both read-only and destructive")
	}
	if len(k.SideEffects) > 0 {
		c.report("annotation-readonly-effects", pointer, allowed, "a read-only tool has no side effects, but the contract "+
			"lists some")
	}
	if k.Confirmation == ConfirmationAlways {
		c.report("annotation-readonly-confirmed", pointer, `false, or "risk": "low" or "medium" without a confirmation`,
			"hosts run read-only tools without asking, but the contract wants every call confirmed")
	}
	if k.DryRun != DryRunNone {
		c.report("annotation-readonly-dryrun", pointer, allowed, "a read-only tool has nothing to rehearse, but the "+
			"contract has a dry run")
	}
	if k.Idempotency.Mode != IdempotencyNone {
		c.report("annotation-readonly-idempotency", pointer, `false, or "mode": "none"`,
			"a read-only tool may simply run again; a recorded answer would be old")
	}
}

func (c *checker) checkIdempotentHint(k *Contract) {
	const pointer = "/annotations/idempotentHint"
	if len(k.SideEffects) == 0 {
		c.report("annotation-idempotent-unexplained", pointer,
			`a sentence in "sideEffects" that says what a repeated call does`,
			"the tool is said to be idempotent, but the contract does not say what a repeated call does")
	}
	if k.Idempotency.Mode != IdempotencyNone {
		c.report("annotation-idempotent-recorded", pointer, "the hint only where the function itself may run twice",
			"after a crash a tool with this hint is run again, so it must hold without the dispatcher's records")
	}
}

func isTrue(hint *bool) bool { return hint != nil && *hint }
