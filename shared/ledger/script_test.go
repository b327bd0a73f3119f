package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A script is one actor of the model: the ledger's own code, run against answers that were fixed before. At the first
// question without an answer it stops, and the question is what the actor does next. An actor is thus known by its
// answers so far, and running it never waits for anything.
type script struct {
	answers []reply
	next    int
	asked   question

	actor   int
	sent    int  // how often the call was sent
	leases  int  // how many owners' tokens were drawn
	faulted bool // whether a request of this sending failed
}

// question is a step of an actor: something that takes effect, or is seen, at one moment.
type question struct {
	kind     questionKind
	key      key    // askGet
	write    write  // askWrite
	lease    *Lease // askStart
	harmless bool   // askEnd
	record   Record // askDeliver
	err      error  // askDeliver
	// local is all that the actor still knows at this point, where that is little; empty elsewhere. Courses that differ
	// in what an actor has forgotten are one.
	local string
}

type questionKind int

const (
	askNothing questionKind = iota // the actor is through
	askClock
	askGet
	askWrite
	askStart   // check the start window and begin to run the tool
	askEnd     // wait for the tool
	askDeliver // tell the client
	askPause   // go on
)

// reply answers a question; which fields count depends on the question.
type reply struct {
	item   item
	ok     bool
	fault  bool
	now    time.Time
	choice choice
}

// choice is what the tool does.
type choice int8

const (
	tooLate  choice = iota // askStart: the start window is over
	harmless               // askStart: it runs and will have no effect
	effect                 // askStart: it runs and has its effect
	returned               // askEnd: it gives its result, or says that it had no effect if it is harmless
	crashed                // askEnd
	broken                 // askEnd: the connection broke, and the tool may still be running
)

// stop ends a run at a question without an answer.
type stop struct{}

func (s *script) ask(q question) reply {
	if s.next == len(s.answers) {
		s.asked = q
		panic(stop{})
	}
	s.next++
	answer := s.answers[s.next-1]
	s.faulted = s.faulted || answer.fault
	return answer
}

// run runs a program up to its first open question.
func (s *script) run(program func(*script)) {
	defer func() {
		if r := recover(); r != nil && r != any(stop{}) {
			panic(r)
		}
	}()
	program(s)
}

func (s *script) get(_ context.Context, k key) (item, error) {
	answer := s.ask(question{kind: askGet, key: k})
	if answer.fault {
		return nil, errNoAnswer
	}
	return answer.item, nil
}

func (s *script) write(_ context.Context, w write) (item, bool, error) {
	answer := s.ask(question{kind: askWrite, write: w})
	if answer.fault {
		return nil, false, errNoAnswer
	}
	return answer.item, answer.ok, nil
}

func (s *script) ledger() *Ledger {
	clock := func() time.Time { return s.ask(question{kind: askClock}).now }
	return newLedger(s, clock, func() string {
		s.leases++
		return ownerName(s.actor, s.leases)
	})
}

func ownerName(actor, n int) string { return fmt.Sprintf("%d.%d", actor, n) }

func (s *script) deliver(r Record, err error) {
	if err != nil && s.faulted {
		err = nil // A request failed before, so the call may.
	}
	s.ask(question{kind: askDeliver, record: r, err: err})
}

// sender is a dispatcher that gets one call a number of times, as a client that sends it again until it has a result.
func sender(call Call, replayFor time.Duration, sends int) func(*script) {
	return func(s *script) {
		l := s.ledger()
		for s.sent < sends {
			s.sent++
			s.faulted = false
			s.ask(question{kind: askPause, local: fmt.Sprint("sends ", s.sent, s.leases)})
			if s.send(l, call, replayFor) {
				return
			}
		}
	}
}

// send reports whether the client got a result.
func (s *script) send(l *Ledger, call Call, replayFor time.Duration) bool {
	met, err := l.Read(context.Background(), call.ID, call.Query)
	if err == nil && met.Status == Free {
		var lease *Lease
		s.ask(question{kind: askPause, local: fmt.Sprint("acquires ", s.sent, s.leases, s.faulted)})
		if lease, met, err = l.Acquire(context.Background(), call); lease != nil {
			return s.runTool(lease, replayFor)
		}
	}
	s.deliver(met, err)
	return met.Status == Completed
}

// runTool is what a dispatcher does with a lease. The result is the owner's token.
func (s *script) runTool(lease *Lease, replayFor time.Duration) bool {
	known := fmt.Sprint("starts ", s.sent, s.leases, s.faulted, lease.begun, dump(lease.record.encode(key{})))
	started := s.ask(question{kind: askStart, lease: lease, local: known}).choice
	if started == tooLate {
		s.deliver(Record{}, lease.Release(context.Background()))
		return false
	}
	switch s.ask(question{kind: askEnd, harmless: started == harmless}).choice {
	case crashed:
		s.deliver(Record{}, lease.Fail(context.Background()))
		return false
	case broken:
		return false
	}
	if started == harmless {
		s.deliver(Record{}, lease.Release(context.Background()))
		return false
	}
	return s.complete(lease, replayFor)
}

func (s *script) complete(lease *Lease, replayFor time.Duration) bool {
	var until time.Time
	if replayFor != 0 {
		until = lease.begun.Add(replayFor)
	}
	result := []byte(lease.record.owner)
	fencedBy, err := lease.Complete(context.Background(), result, until)
	if err != nil {
		s.deliver(Record{}, err)
		return false
	}
	if fencedBy != nil {
		s.deliver(*fencedBy, nil)
		return fencedBy.Status == Completed
	}
	s.deliver(Record{Status: Completed, Result: result}, nil)
	return true
}

// operatorResult is what an operator completes records with.
const operatorResult = "operator"

// operator is someone who resolves the call, once.
func operator(id ID, resolution Resolution) func(*script) {
	return func(s *script) {
		s.ask(question{kind: askPause})
		met, err := s.ledger().Resolve(context.Background(), id, resolution)
		if errors.Is(err, ErrNotUnknown) {
			err = nil
		}
		s.deliver(met, err)
	}
}
