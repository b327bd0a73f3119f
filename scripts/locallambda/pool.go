package locallambda

import (
	"slices"
	"time"
)

// patience is how long an invocation waits for an instance that has answered and is about to ask for more work. Without
// it, a caller that sends one call after the other would now and then be faster than the instance, and start another.
const patience = 500 * time.Millisecond

// waiter is an invocation that waits for an instance of its version, or, at the limit, for any of its function.
type waiter struct {
	version *version
	// got receives an instance whose slot is the waiter's, or nil: look again.
	got chan *instance
}

// acquire takes a slot of the concurrency limit and an idle instance for it. Without an idle instance it returns nil:
// the caller is to start one, in a goroutine that it ends with s.work.Done.
func (s *Service) acquire(v *version) (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	giveUp := time.Time{}
	for {
		if s.closed {
			return nil, errClosed()
		}
		full := s.limitMet(v.function)
		if in := v.takeIdle(full != nil); in != nil {
			s.enter(v.function)
			return in, nil
		}
		if v.mayWait(full != nil) && (giveUp.IsZero() || time.Now().Before(giveUp)) {
			if giveUp.IsZero() {
				giveUp = time.Now().Add(patience)
			}
			if in := s.await(v, giveUp); in != nil {
				return in, nil
			}
			continue
		}
		if full != nil {
			return nil, full
		}
		s.startBackground()
		s.enter(v.function)
		s.work.Add(1)
		return nil, nil
	}
}

// mayWait reports whether an instance will soon be free that nobody else waits for.
func (v *version) mayWait(full bool) bool {
	return v.function.finishing > len(v.function.waiters) && (full || v.finishing > 0)
}

// await gives up the lock until an instance comes, something changes, or the time is up.
func (s *Service) await(v *version, until time.Time) *instance {
	f := v.function
	w := &waiter{version: v, got: make(chan *instance, 1)}
	f.waiters = append(f.waiters, w)
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()

	s.mu.Unlock()
	select {
	case in := <-w.got:
		s.mu.Lock()
		return in
	case <-timer.C:
	}
	s.mu.Lock()
	if i := slices.Index(f.waiters, w); i >= 0 {
		f.waiters = slices.Delete(f.waiters, i, i+1)
		return nil
	}
	return <-w.got
}

func (v *version) takeIdle(full bool) *instance {
	if full || len(v.idle) == 0 {
		return nil
	}
	last := len(v.idle) - 1
	in := v.idle[last]
	v.idle = v.idle[:last]
	in.state = busy
	return in
}

// limitMet returns the refusal if one more invocation of f would be too many.
func (s *Service) limitMet(f *function) error {
	if f.reserved > 0 {
		if f.active >= f.reserved {
			return throttled("ReservedFunctionConcurrentInvocationLimitExceeded")
		}
		return nil
	}
	if s.unreserved >= s.options.AccountConcurrency {
		return throttled("ConcurrentInvocationLimitExceeded")
	}
	return nil
}

// reserve changes the reserved concurrency, also while invocations are in flight.
func (s *Service) reserve(f *function, concurrency int) {
	if f.reserved == 0 {
		s.unreserved -= f.active
	}
	f.reserved = concurrency
	if f.reserved == 0 {
		s.unreserved += f.active
	}
}

func (s *Service) enter(f *function) {
	f.active++
	if f.reserved == 0 {
		s.unreserved++
	}
}

func (s *Service) leave(f *function) {
	f.active--
	if f.reserved == 0 {
		s.unreserved--
	}
	if len(f.waiters) > 0 {
		w := f.waiters[0]
		f.waiters = f.waiters[1:]
		w.got <- nil
	}
}

// answered notes that an instance has given its answer but has not asked for more work. It must come before the caller
// can see the answer: see patience.
func (s *Service) answered(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.state == busy {
		in.state = finishing
		in.version.finishing++
		in.version.function.finishing++
	}
}

// ready takes back an instance that asks for more work, and reports whether it is idle now.
func (s *Service) ready(in *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, f := in.version, in.version.function
	s.stopFinishing(in)
	if s.closed || v.removed {
		in.state = ending
		s.leave(f)
		in.kill("")
		return false
	}
	i := slices.IndexFunc(f.waiters, func(w *waiter) bool { return w.version == v })
	if i >= 0 {
		w := f.waiters[i]
		f.waiters = slices.Delete(f.waiters, i, i+1)
		in.state = busy
		w.got <- in
		return false
	}
	in.state = idle
	v.idle = append(v.idle, in)
	s.leave(f)
	return true
}

func (s *Service) stopFinishing(in *instance) {
	if in.state == finishing {
		in.version.finishing--
		in.version.function.finishing--
	}
}

// lost forgets an instance whose process has ended.
func (s *Service) lost(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.instances, in)
	v := in.version
	s.stopFinishing(in)
	switch in.state {
	case idle:
		v.idle = slices.DeleteFunc(v.idle, func(other *instance) bool { return other == in })
	case busy, finishing:
		s.leave(v.function)
	}
	in.state = ending
	s.endIfOver(v)
}
