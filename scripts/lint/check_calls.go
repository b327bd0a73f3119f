package lint

import (
	"fmt"

	"patchbay/shared/contract"
)

func callRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "side-effects-missing", Severity: warning,
			What:   "A tool that changes something says what, in sideEffects.",
			Why:    "They are what a person reads before allowing a call; without them there is only the tool's title.",
			Source: reference},
		{ID: "risk-permissions", Severity: warning,
			What:   "A tool of high or critical risk needs permissions.",
			Why:    "Without any, everybody who reaches the server may ask for the call, and confirm it themselves.",
			Source: reference},
		{ID: "idempotency-shared", Severity: warning,
			What: "Calls are recorded by their arguments only for callers who sign in.",
			Why: "Callers who do not sign in are one and the same to the record: one of them gets the answer that another's " +
				"call was given.",
			Source: reference},
		{ID: "key-unreachable", Severity: warning,
			What: "Where calls without a key are refused, a parameter takes the key.",
			Why: "A model can set arguments and nothing else; without keyArgument only clients that send the header can call " +
				"the tool.",
			Source: reference},
		{ID: "timeout-client", Severity: warning,
			What: "A tool that takes more than 60 seconds reports progress.",
			Why: "The official TypeScript client gives up after 60 seconds in which it has heard nothing, and many hosts are " +
				"built on it.",
			Source: "MCP TypeScript SDK, DEFAULT_REQUEST_TIMEOUT_MSEC, read 2026-11, " +
				"https://github.com/modelcontextprotocol/typescript-sdk/blob/main/src/shared/protocol.ts"},
	}
}

func checkCalls(c *Catalogue) contract.Problems { return each(c, checkCall) }

// clientSeconds is how long clients of the official TypeScript SDK wait for an answer.
const clientSeconds = 60

func checkCall(t *contract.Tool) contract.Problems {
	k := &t.Contract
	var found contract.Problems
	if len(k.SideEffects) == 0 && !isTrue(t.Annotations.ReadOnlyHint) && saysItChanges(t) {
		found = append(found, advise(t, "side-effects-missing", "/contract",
			`"sideEffects" with a sentence for each change, and one for a repeated call`,
			"the tool changes something, but the contract does not say what"))
	}
	if k.Risk.NeedsConfirmation() && len(k.Permissions) == 0 {
		found = append(found, advise(t, "risk-permissions", "/contract/risk", `"permissions" with an OAuth scope`,
			fmt.Sprintf("the tool is of %s risk, but needs no permission", k.Risk)))
	}
	if k.Idempotency.Mode == contract.IdempotencyArguments && len(k.Permissions) == 0 {
		found = append(found, advise(t, "idempotency-shared", "/contract/idempotency/mode",
			`"key", or "permissions", so that callers sign in`,
			"everybody may call the tool, and all who do not sign in share one record of calls"))
	}
	if k.Idempotency.Mode == contract.IdempotencyKey && k.Idempotency.WhenAbsent == contract.WhenAbsentRefuse &&
		k.Idempotency.KeyArgument == "" {
		found = append(found, advise(t, "key-unreachable", "/contract/idempotency",
			`a "keyArgument", or "whenAbsent": "run"`, "calls without a key are refused, but no parameter takes one"))
	}
	if k.Execution.TimeoutSeconds > clientSeconds && !k.Execution.Streaming {
		found = append(found, advise(t, "timeout-client", "/contract/execution/timeoutSeconds",
			fmt.Sprintf(`at most %d, or "streaming": true and a tool that reports progress`, clientSeconds),
			fmt.Sprintf("clients may have left long before %d seconds are over", k.Execution.TimeoutSeconds)))
	}
	return found
}

// saysItChanges reports whether the author said that the tool changes something; one that says nothing is told so by
// annotation-unsaid.
func saysItChanges(t *contract.Tool) bool {
	kind, _ := verbOf(t.Name)
	return t.Contract.Confirmation == contract.ConfirmationAlways || isTrue(t.Annotations.DestructiveHint) ||
		isFalse(t.Annotations.ReadOnlyHint) && kind != verbReading
}
