package callpath

import (
	"slices"
	"strings"
	"sync"
	"time"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
)

// Bounds of what a Collector holds.
const (
	// keep is how many calls that have ended it remembers.
	keep = 200
	// maxOpen is how many may be under way; the oldest gives way to one more.
	maxOpen = 1000
	// maxLines and maxText bound the lines of a call and all their text in bytes, maxRuns its invocations.
	maxLines = 200
	maxText  = 64 << 10
	maxRuns  = 50
	// backlog is how many calls wait for a subscriber.
	backlog = 64
	// linger is how long a call whose answer has ended is waited for: the lines of a process come through a pipe, and so a
	// little later than its answer.
	linger = 200 * time.Millisecond
)

// Collector makes calls of what gateway, Lambda service and functions tell, and remembers the last ones. It is safe for
// concurrent use.
type Collector struct {
	// dispatcher is the name of the dispatcher's function, and authorizer that of the authorizer's.
	dispatcher, authorizer string

	mu sync.Mutex
	// calls are all that are known, by their request id. Ended ones are in ended, the oldest first; the others in open.
	calls       map[string]*path
	open, ended []*path
	// runs are the invocations of these calls, by their own id; segments the calls by the part of the trace under which
	// the dispatcher's invocation asks for others.
	runs     map[string]*run
	segments map[string]*path
	// instances say whose lines an instance writes: those of the run that it has, or had last.
	instances   map[string]*run
	subscribers map[chan Call]struct{}
	closed      bool
}

// New returns a Collector for a stack whose dispatcher and authorizer are the functions of these names.
func New(dispatcher, authorizer string) *Collector {
	return &Collector{
		dispatcher: dispatcher, authorizer: authorizer,
		calls: map[string]*path{}, runs: map[string]*run{}, segments: map[string]*path{}, instances: map[string]*run{},
		subscribers: map[chan Call]struct{}{},
	}
}

// Recent returns the last calls that have ended, up to n of them, the newest first. What is logged of one after its end
// is in it, too.
func (c *Collector) Recent(n int) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	recent := make([]Call, 0, min(n, len(c.ended)))
	for _, p := range slices.Backward(c.ended) {
		if len(recent) >= n {
			break
		}
		recent = append(recent, p.call())
	}
	return recent
}

// Subscribe returns a channel that gets each call when its answer has ended, and what to call when no more are wanted.
// A call of which a part runs on, or lacks the line that says how it ended, comes once more, with the same id, when
// that is there. The channel is closed when no more are wanted, or with the Collector. Whoever reads too slowly misses
// calls.
func (c *Collector) Subscribe() (calls <-chan Call, stop func()) {
	channel := make(chan Call, backlog)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		close(channel)
		return channel, func() {}
	}
	c.subscribers[channel] = struct{}{}
	return channel, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unsubscribe(channel)
	}
}

// unsubscribe closes a channel once. The lock must be held.
func (c *Collector) unsubscribe(channel chan Call) {
	if _, has := c.subscribers[channel]; has {
		delete(c.subscribers, channel)
		close(channel)
	}
}

// Close tells subscribers of the calls whose answer has ended and whose lines were waited for, and that there will be
// no more.
func (c *Collector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range slices.Clone(c.open) {
		if p.access != nil {
			c.tell(p)
		}
	}
	for channel := range c.subscribers {
		c.unsubscribe(channel)
	}
}

// Access takes the gateway's record of a request whose answer has ended.
func (c *Collector) Access(record localgateway.Access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.path(record.RequestID)
	p.access = &record
	c.settle(p)
}

// Invocation takes a step of an invocation.
func (c *Collector) Invocation(event locallambda.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if event.Step == locallambda.Asked {
		c.asked(event)
		return
	}
	r := c.runs[event.RequestID]
	if r == nil { // of no request, as when the service warms an instance up
		delete(c.instances, event.Instance)
		return
	}
	switch event.Step {
	case locallambda.Starting:
		r.cold = true
		c.instances[event.Instance] = r
		r.instances = append(r.instances, event.Instance)
	case locallambda.Begun:
		r.begun = event.Time
		if c.instances[event.Instance] != r {
			c.instances[event.Instance] = r
			r.instances = append(r.instances, event.Instance)
		}
	case locallambda.Ended:
		r.ended, r.failure = event.Time, event.Failure
		c.settle(r.path)
	}
}

// asked begins a run, if it is known for which request it is.
func (c *Collector) asked(event locallambda.Event) {
	segment := parent(event.Trace)
	var p *path
	switch {
	case event.For != "":
		p = c.path(event.For)
		if event.Function == c.dispatcher {
			c.segments[segment] = p
			p.segment = segment
		}
	case segment != "":
		p = c.segments[segment]
	}
	if p == nil || len(p.runs) >= maxRuns {
		return
	}
	r := &run{path: p, id: event.RequestID, function: event.Function, asked: event.Time}
	p.runs = append(p.runs, r)
	c.runs[r.id] = r
}

// Line takes a line that an instance of a function has logged, and returns the id of the request for which it was
// running; empty where that is not known.
func (c *Collector) Line(function, instance string, text []byte) (requestID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	facts := read(text)
	r := c.instances[instance]
	if r == nil {
		r = c.named(text)
	} else if late := c.before(instance, facts.RequestID); late != nil {
		r = late
	}
	if r == nil {
		return ""
	}
	r.path.add(Line{Time: time.Now(), Source: function, Message: string(text)})
	if r.facts == nil && facts.closes(r.path.id) {
		r.facts = &facts
		c.settle(r.path)
	}
	return r.path.id
}

// before is the run of the named request in an instance; nil where that had none. A line comes through a pipe, so that
// the instance may have the next request by the time that it is read.
func (c *Collector) before(instance, requestID string) *run {
	p := c.calls[requestID]
	if p == nil {
		return nil
	}
	for _, r := range slices.Backward(p.runs) {
		if slices.Contains(r.instances, instance) {
			return r
		}
	}
	return nil
}

// named is the run that Lambda's own word of a failure names, where that is of no instance.
func (c *Collector) named(text []byte) *run {
	rest, is := strings.CutPrefix(string(text[:min(len(text), 100)]), "RequestId: ")
	if !is {
		return nil
	}
	id, _, _ := strings.Cut(rest, " ")
	return c.runs[id]
}

// Gateway takes a line that the gateway has logged, as JSON with the requestId, which it returns.
func (c *Collector) Gateway(text []byte) (requestID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := read(text).RequestID
	if id != "" {
		c.path(id).add(Line{Time: time.Now(), Source: sourceGateway, Message: string(text)})
	}
	return id
}

// path is that of a request, from the first word of it on. The lock must be held.
func (c *Collector) path(id string) *path {
	if p := c.calls[id]; p != nil {
		return p
	}
	if len(c.open) >= maxOpen {
		c.forget(c.open[0])
		c.open = c.open[1:]
	}
	p := &path{id: id}
	c.calls[id] = p
	c.open = append(c.open, p)
	return p
}

// settle tells of a call whose answer has ended when all that belongs to it is there. What lacks lines, or runs on, is
// told a little later as it is then. The lock must be held.
func (c *Collector) settle(p *path) {
	switch {
	case p.access == nil || p.whole:
	case p.complete():
		p.whole = true
		c.tell(p)
	case p.timer == nil && !p.final:
		p.timer = time.AfterFunc(linger, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if p.timer != nil { // not told meanwhile
				c.tell(p)
			}
		})
	}
}

// tell puts a call among those that have ended, and tells subscribers. The lock must be held.
func (c *Collector) tell(p *path) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if c.calls[p.id] != p { // forgotten
		return
	}
	p.final = !p.running()
	if at := slices.Index(c.open, p); at >= 0 {
		c.open = slices.Delete(c.open, at, at+1)
		if len(c.ended) >= keep {
			c.forget(c.ended[0])
			c.ended = c.ended[1:]
		}
		c.ended = append(c.ended, p)
	}
	call := p.call()
	for channel := range c.subscribers {
		select {
		case channel <- call:
		default:
		}
	}
}

// forget leaves nothing of a call. The lock must be held.
func (c *Collector) forget(p *path) {
	delete(c.calls, p.id)
	delete(c.segments, p.segment)
	for _, r := range p.runs {
		delete(c.runs, r.id)
		for _, instance := range r.instances {
			if c.instances[instance] == r {
				delete(c.instances, instance)
			}
		}
	}
}

// parent is the segment of a trace that asks for an invocation; empty where the header names none.
func parent(header string) string {
	for field := range strings.SplitSeq(header, ";") {
		if segment, is := strings.CutPrefix(strings.TrimSpace(field), "Parent="); is {
			return segment
		}
	}
	return ""
}
