package ledger

import "time"

// action is what comes next for a call that met a record.
type action int

const (
	actAnswer action = iota // the record is the answer
	actReplay               // the result of the record's owner is the answer
	actSettle               // the lease ran out: whether its owner left a result decides
	actFinish               // complete the record for its owner by change, then answer with the owner's result
	actTake                 // a new record may be written on the condition
)

// decision is what a record means for a call.
type decision struct {
	action action
	status Status
	met    *record
	// change completes the record; actFinish only.
	change change
	// when is the condition of a new record; actTake, and Unknown for an operator.
	when condition
	// rerun says that the outcome of an earlier run is unknown; actTake only.
	rerun bool
}

// record is the decision in the caller's terms. result belongs to actReplay and actFinish.
func (d decision) record(result []byte) Record {
	r := Record{Status: d.status, Result: result}
	if d.status != Free {
		r.Ends = time.Unix(d.met.expires, 0)
	}
	if d.status == Leased {
		r.Until = d.met.leaseUntil
	}
	return r
}

// decide says what met, nil for no record, means for a call at a time. An ended record counts as none.
func decide(met *record, now time.Time, query Query) decision {
	if met == nil || ended(met.expires, now) {
		return decision{action: actTake, when: freeAt(now)}
	}
	answer := decision{met: met, status: met.status()}
	switch {
	case met.digest != query.Digest:
		answer.status = Conflict
	case met.state == stateCompleted && passed(met.replayUntil, now):
		return decision{action: actTake, met: met, when: met.unchanged(now)}
	case met.state == stateCompleted:
		answer.action = actReplay
	case met.state == stateUnknown:
		return decideUnknown(met, now, query)
	case !now.Before(met.leaseUntil):
		answer.action = actSettle
	}
	return answer
}

// settle says what a lease that ran out means, once its owner's result, nil for none, was looked for.
func settle(met *record, found *result, now time.Time, query Query) decision {
	if found == nil {
		return decideUnknown(met, now, query)
	}
	if passed(found.replayUntil, now) {
		return decision{action: actTake, met: met, when: met.unchanged(now)}
	}
	done := change{put: met.completed(met.expires, found.replayUntil), when: met.unchanged(now)}
	return decision{action: actFinish, status: Completed, met: done.put, change: done}
}

// decideUnknown is for a run that nobody knows the end of. The tool must be idempotent now and have been so then: a
// contract that changed says nothing about what ran before.
func decideUnknown(met *record, now time.Time, query Query) decision {
	if met.idempotent && query.Idempotent {
		return decision{action: actTake, met: met, when: met.unchanged(now), rerun: true}
	}
	return decision{action: actAnswer, status: Unknown, met: met, when: met.unchanged(now)}
}

// change is one step of a record: a new content, or none, if the stored one is as expected.
type change struct {
	put  *record // nil deletes
	when condition
}

// made reports whether a record, nil for none, shows that the change was made. Another owner's record does not: either
// the change was not made, or it no longer matters. After a deletion, no record of the old owner is what was wanted.
func (c change) made(met *record) bool {
	if c.put == nil {
		return met == nil || met.owner != c.when.owner
	}
	return met != nil && met.owner == c.put.owner && met.state == c.put.state
}

// complete is the owner's last step, on the decision that there is no other's record in the way. It holds on the
// owner's equality, in whatever state the record is, or when there is no record any more: what ran is better recorded
// late than never.
func complete(leased *record, d decision, found *result) change {
	when := d.when
	if when.free {
		when.owner = leased.owner
	}
	return change{put: leased.completed(found.expires, found.replayUntil), when: when}
}

// release frees what was leased. If the lease was taken over an unknown outcome, it is that outcome that remains.
func release(leased *record, now time.Time) change {
	if leased.rerun {
		return fail(leased, now)
	}
	return change{when: leased.unchanged(now)}
}

// fail records that nobody knows how the run ended.
func fail(leased *record, now time.Time) change {
	unknown := *leased
	unknown.state = stateUnknown
	return change{put: &unknown, when: leased.unchanged(now)}
}

// freeAt is the condition that there is no record, or one that has ended.
func freeAt(now time.Time) condition { return condition{free: true, now: now.Unix()} }

// ended reports whether something that expires at an epoch second has ended.
func ended(expires int64, now time.Time) bool { return expires <= now.Unix() }

// passed reports whether the end of a replay has passed; the zero time never does.
func passed(replayUntil, now time.Time) bool {
	return !replayUntil.IsZero() && !now.Before(replayUntil)
}

// ceilUnix is t in epoch seconds, rounded up.
func ceilUnix(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }
