package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"patchbay/shared/contract"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
)

// Ledger remembers what calls came to. The rules are those of package ledger.
type Ledger interface {
	Read(ctx context.Context, id ledger.ID, query ledger.Query) (ledger.Record, error)
	Acquire(ctx context.Context, call ledger.Call) (*ledger.Lease, ledger.Record, error)
	PutReceipt(ctx context.Context, of ledger.ID, receipt string, ends time.Time) error
	Receipt(ctx context.Context, of ledger.ID) (receipt string, ends time.Time, err error)
	Claim(ctx context.Context, receipt string, id ledger.ID, ends time.Time) (ledger.ID, error)
}

const (
	// patience is how long a call waits for another one with its key that is running.
	patience = 5 * time.Second
	// firstPause is the first of its pauses; each is twice the one before, up to longestPause.
	firstPause   = 50 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// completeWithin bounds one attempt to record a result, and completeAttempts how many there are. All of them end
	// before the call's deadline, but for the first, which has leastAttempt however late it is.
	completeWithin   = 3 * time.Second
	completeAttempts = 3
	leastAttempt     = 300 * time.Millisecond
	// recordMargin is kept back from the tool's time, so that there is some left to record what it answers.
	recordMargin = time.Second
)

// once runs the call unless one with its key has run: that one's outcome is then the answer. Whoever meets one that is
// running waits a little for it to finish.
func (c *call) once(ctx context.Context) (reply, error) {
	id := c.recordID()
	query := ledger.Query{Digest: c.digest, Idempotent: isTrue(c.entry.Tool.Annotations.IdempotentHint)}
	wait := waiting{until: c.now().Add(patience), pause: firstPause}
	for {
		record, err := c.Ledger.Read(ctx, id, query)
		if err != nil {
			return nil, c.unrecordable(err)
		}
		if c.expired && record.Status != ledger.Completed {
			return nil, c.refuse(outcomeState, unopenable())
		}
		if record.Status == ledger.Free {
			if refusal, err := c.gates(ctx); refusal != nil || err != nil {
				return refusal, err
			}
			lease, met, err := c.Ledger.Acquire(ctx, c.claim(id, query))
			if err != nil {
				return nil, c.unrecordable(err)
			}
			if lease != nil {
				return c.underLease(ctx, lease)
			}
			record = met
		}
		if record.Status != ledger.Leased || !wait.next(ctx, c.now()) {
			return c.met(record)
		}
	}
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// claim is the call as the ledger records it.
func (c *call) claim(id ledger.ID, query ledger.Query) ledger.Call {
	rules := c.entry.Tool.Contract
	return ledger.Call{
		ID: id, Query: query,
		Timeout: functionTimeout(&rules),
		TTL:     cmp.Or(rules.Idempotency.TTL.Duration(), recordLifetime),
		// A state of this call that is still open may come back for its result.
		Outlive: c.now().Add(max(roundLifetime, receiptLifetime)),
		Audit:   c.auditFacts(),
	}
}

// recordLifetime is how long a call is remembered whose contract does not say: one that is recorded for its
// confirmation or its dry run alone.
const recordLifetime = 24 * time.Hour

// longestTimeout is the longest that any Lambda function can run, which an existing one of somebody else's might.
const longestTimeout = 15 * time.Minute

func functionTimeout(rules *contract.Contract) time.Duration {
	if rules.Function.ARN != "" {
		return longestTimeout
	}
	return time.Duration(rules.Execution.TimeoutSeconds) * time.Second
}

// waiting is the pauses of one call.
type waiting struct {
	until time.Time
	pause time.Duration
}

// next pauses, and reports false when there is no time left to.
func (w *waiting) next(ctx context.Context, now time.Time) bool {
	if now.Add(w.pause).After(w.until) {
		return false
	}
	if deadline, bounded := ctx.Deadline(); bounded && now.Add(w.pause).After(deadline) {
		return false
	}
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	w.pause = min(2*w.pause, longestPause)
	return true
}

// unrecordable is the answer when the ledger cannot be asked: without its record the call does not run.
func (c *call) unrecordable(cause error) error {
	c.cause = cause
	return c.refuse(outcomeLedger, jsonrpc.Errorf(jsonrpc.CodeInternalError,
		"The call cannot be recorded at the moment, so nothing has run (request id %s)", c.RequestID))
}

// What became of a call's record, as its line in the log says it.
const (
	ledgerRecorded = "recorded" // with its result
	ledgerReplayed = "replayed" // it was there, with the result of an earlier request
	ledgerReleased = "released" // nothing has run: the next one with the key may
	ledgerUnknown  = "unknown"  // that it was begun, and that nobody knows how it ended
	ledgerOpen     = "open"     // it was begun and is not brought to an end; its lease runs out
)

// met answers with the record of another call with the same key.
func (c *call) met(record ledger.Record) (reply, error) {
	name := c.entry.Tool.Name
	switch record.Status {
	case ledger.Completed:
		members, err := jsonrpc.Members(record.Result)
		if err != nil {
			return nil, c.unrecordable(fmt.Errorf("reading a recorded result: %w", err))
		}
		c.outcome, c.replayed, c.ledger = outcomeReplayed, true, ledgerReplayed
		return members, nil
	case ledger.Leased:
		return c.toolError(outcomeInFlight, "This call of %s is running already, begun by an earlier request with the same "+
			"key. Nothing was begun again. Send the same call again in a few seconds to get its result; by then, or in %d "+
			"seconds at the latest, its outcome is known.", name, secondsUntil(c.now(), record.Until)), nil
	case ledger.Conflict:
		return c.toolError(outcomeConflict, "This idempotency key was used for a call of %s with other arguments, so this "+
			"one was not begun. Use a new key for a new wish, or repeat the earlier arguments to get the earlier result.",
			name), nil
	}
	return c.toolError(outcomeUncertain, "An earlier call of %s with this key was begun, and nobody knows how it ended: "+
		"it may have had its effect. It is not run again under this key. Check what it did, and if it did nothing, call "+
		"again with a new key; or ask an operator (request id %s).", name, c.RequestID), nil
}

func secondsUntil(now, then time.Time) int {
	return max(1, int(math.Ceil(then.Sub(now).Seconds())))
}

// underLease runs the call, records what it came to, and only then answers.
func (c *call) underLease(ctx context.Context, lease *ledger.Lease) (reply, error) {
	if !lease.MayStart(c.now()) {
		c.ledger = ledgerReleased
		c.settle(ctx, "releasing a lease that came too late", lease.Release)
		return c.toolError(outcomeThrottled, "%s could not be started in time, and nothing has run. Try again in a few "+
			"seconds.", c.entry.Tool.Name), nil
	}
	running, cancel := context.WithDeadline(ctx, c.Deadline.Add(-recordMargin))
	defer cancel()
	answer, left, err := c.attempt(running)
	// One that may be repeated runs again for whoever sends it again, so that nobody needs to know.
	c.uncertain = (left == traceUnknown || left == traceOpen) && !isTrue(c.entry.Tool.Annotations.IdempotentHint)
	switch left {
	case traceNone:
		c.ledger = ledgerReleased
		c.settle(ctx, "releasing a lease", lease.Release)
	case traceUnknown:
		c.ledger = ledgerUnknown
		c.settle(ctx, "recording an unknown outcome", lease.Fail)
	case traceOpen:
		c.ledger = ledgerOpen
		// The tool may finish yet; its lease runs on, and whoever meets it after its end learns that nobody knows.
	case traceAnswered:
		return c.complete(ctx, lease, answer)
	}
	return answer, err
}

// settle writes the end of a lease that has no result. Where that fails the lease runs out by itself, which is slower
// and as safe.
func (c *call) settle(ctx context.Context, what string, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeWithin)
	defer cancel()
	if err := write(ctx); err != nil {
		c.unsettled = true
		c.Log.WarnContext(ctx, what, "requestId", c.RequestID, "tool", c.entry.Tool.Name, "error", err)
	}
}

// complete records the answer. One that cannot be recorded is not given: a repeat would be told another.
func (c *call) complete(ctx context.Context, lease *ledger.Lease, answer reply) (reply, error) {
	var err error
	for attempt := range completeAttempts {
		left := c.Deadline.Sub(c.now())
		if attempt > 0 && left < leastAttempt {
			break
		}
		var winner *ledger.Record
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(max(left, leastAttempt), completeWithin))
		winner, err = lease.Complete(within, answer.encode(), replayUntil(answer))
		cancel()
		switch {
		case err == nil && winner == nil:
			c.ledger = ledgerRecorded
			return answer, nil
		case err == nil:
			return c.met(*winner)
		}
	}
	c.ledger = ledgerOpen
	c.cause = fmt.Errorf("recording the result: %w", err)
	return c.toolError(outcomeUnrecorded, "%s has run, but its result could not be recorded, so it is not given here: a "+
		"repeat would not get the same one. Its effects are there. Check what it did before calling it again (request id "+
		"%s).", c.entry.Tool.Name, c.RequestID), nil
}

// replayUntil is until when a result says that it may be replayed; zero when it does not say.
func replayUntil(answer reply) time.Time {
	for _, m := range answer {
		if m.Key != memberMeta {
			continue
		}
		var text string
		if json.Unmarshal(memberOf(m.Value, mcp.MetaReplayUntil), &text) != nil {
			return time.Time{}
		}
		until, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}
		}
		return until
	}
	return time.Time{}
}
