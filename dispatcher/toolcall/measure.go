package toolcall

import "patchbay/dispatcher/metrics"

// meaning is what an outcome means to whoever operates the server.
type meaning struct {
	// failed: the call failed for a reason on this side. refused: for one on the caller's, who can do something about it;
	// the outcome is the reason. A call that did neither went as its tool and its caller wanted.
	failed, refused bool
	// uncertain: nobody knows whether the recorded call had its effect. It may be so after other outcomes too.
	uncertain bool
	// ledger: the ledger could not be asked, or not told.
	ledger bool
}

var (
	fine    = meaning{}
	failed  = meaning{failed: true}
	refused = meaning{refused: true}
)

// meanings is the one place that says what each outcome counts as.
var meanings = map[outcome]meaning{
	outcomeOK:        fine,
	outcomeToolError: fine, // a failure that the tool foresaw: the model reads it and goes on
	outcomeAsks:      fine,
	outcomeReplayed:  fine,

	outcomePanic:          failed,
	outcomeUnavailable:    failed,
	outcomeThrottled:      failed,
	outcomeGone:           failed,
	outcomeDeadline:       failed,
	outcomeCrash:          failed,
	outcomeBroken:         failed,
	outcomeDefect:         failed,
	outcomeResultTooLarge: failed,
	outcomeLedger:         {failed: true, ledger: true},
	outcomeUnrecorded:     {failed: true, ledger: true, uncertain: true},

	outcomeUnknownTool: refused,
	outcomeHeaders:     refused,
	outcomeForbidden:   refused,
	outcomeStepUp:      refused,
	outcomeInvalid:     refused,
	outcomeTooLarge:    refused,
	outcomeState:       refused,
	outcomeCapability:  refused,
	outcomeCannotAsk:   refused,
	outcomeKey:         refused,
	outcomeNoKey:       refused,
	outcomeInFlight:    refused,
	outcomeConflict:    refused,
	outcomeUncertain:   {refused: true, uncertain: true},
	outcomeDeclined:    refused,
	outcomeDryRun:      refused,
	outcomeLimited:     refused,
}

// measure counts the call. A tool that the caller does not see has no name here, since the name is the client's own.
func (c *call) measure() {
	means := meanings[c.outcome]
	counted := metrics.Call{
		Duration: c.now().Sub(c.started), Error: means.failed, Replay: c.replayed,
		OutcomeUnknown: means.uncertain || c.uncertain, LedgerUnavailable: means.ledger || c.unsettled,
	}
	if c.entry != nil {
		counted.Tool = c.entry.Tool.Name
	}
	if means.refused {
		counted.Refusal = string(c.outcome)
	}
	c.Metrics.Call(counted)
}

// IsRefusal reports whether a call with this outcome, as its line in the log says it, was refused for a reason on the
// caller's side.
func IsRefusal(word string) bool { return meanings[outcome(word)].refused }

// IsFine reports whether a call with this outcome went as its tool and its caller wanted. What is neither fine nor a
// refusal has failed on this side.
func IsFine(word string) bool {
	means, known := meanings[outcome(word)]
	return known && !means.failed && !means.refused
}
