// Package locallambda is AWS Lambda on one machine: it runs the real bootstrap programs of functions over the real
// Runtime API, behind the part of the Lambda API that callers use.
//
// It does to a function what AWS does, so that careless code fails here first. Instances start on demand and serve one
// invocation at a time; an instance is frozen between invocations; a time-out, a crash or too much memory ends it;
// concurrency beyond the limit is refused; asynchronous events are tried again and then reported. What it leaves out is
// said where it is left out: no log tail (X-Amz-Log-Type), no extensions API, no SnapStart, no IAM.
package locallambda

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"
)

// The account and region of every function, where the options name no others. Sources: the ARN form of AWS, and an
// account number that nobody has.
const (
	Region  = "us-east-1"
	Account = "000000000000"
)

// Options configures a Service. The zero value works.
type Options struct {
	// Region and Account are those of every function; empty means the constants of these names.
	Region, Account string
	// AccountConcurrency is how many invocations may run at once in all functions that reserve no concurrency of their
	// own; 0 means 64. (AWS: 1,000.)
	AccountConcurrency int
	// InitTimeout bounds the time from the start of a bootstrap to its first request for work; 0 means AWS's 10
	// seconds. As on AWS, an init that fails is tried once more within the function's own timeout.
	InitTimeout time.Duration
	// RetryDelays are the waits before each further attempt at an asynchronous event whose function failed; nil means 1
	// and 2 seconds (AWS: minutes), empty means no further attempt.
	RetryDelays []time.Duration
	// MaxEventAge is how long an asynchronous event is tried; 0 means AWS's 6 hours.
	MaxEventAge time.Duration
	// OnFailure, the failure destination, gets every asynchronous event that was given up. It may be called from
	// several goroutines at once. Nil: only the log tells.
	OnFailure func(Record)
	// Log gets each line that a function wrote to stdout or stderr, without its line end, and what the service itself
	// has to say of an instance. It may be called from several goroutines at once, and must not keep line. Nil:
	// dropped.
	Log func(function, instance string, line []byte)
	// Observe is told of each step of each invocation. It may be called from several goroutines at once, in the order of
	// the steps of one invocation, and must return at once. Nil: nobody is told.
	Observe func(Event)
}

func (o Options) withDefaults() Options {
	o.Region, o.Account = cmp.Or(o.Region, Region), cmp.Or(o.Account, Account)
	if o.AccountConcurrency == 0 {
		o.AccountConcurrency = 64
	}
	if o.InitTimeout == 0 {
		o.InitTimeout = 10 * time.Second
	}
	if o.RetryDelays == nil {
		o.RetryDelays = []time.Duration{time.Second, 2 * time.Second}
	}
	if o.MaxEventAge == 0 {
		o.MaxEventAge = 6 * time.Hour
	}
	if o.Log == nil {
		o.Log = func(string, string, []byte) {}
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	return o
}

// Service holds functions and their instances. It is an http.Handler of the Lambda API and is safe for concurrent use.
// Close it: it owns processes.
type Service struct {
	options Options
	api     http.Handler
	// ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	// work counts every goroutine that may own a process.
	work    sync.WaitGroup
	starter *starter

	// mu guards what follows, and everything in function, version and instance.state. It may be held when an instance's
	// own lock is taken, never the other way round.
	mu        sync.Mutex
	begun     bool
	closed    bool
	functions map[string]*function
	instances map[*instance]struct{}
	// unreserved counts the invocations in flight of functions that reserve no concurrency.
	unreserved int
}

// New returns a service without functions. It starts nothing until the first invocation.
func New(options Options) *Service {
	s := &Service{
		options:   options.withDefaults(),
		starter:   newStarter(),
		functions: map[string]*function{},
		instances: map[*instance]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.api = s.routes()
	return s
}

// ServeHTTP answers the Lambda API: Invoke (synchronous, Event and DryRun), InvokeWithResponseStream, GetFunction and
// GetFunctionConfiguration. Source: docs.aws.amazon.com/lambda/latest/api. Since there is no IAM, it answers programs
// of this machine alone: what a web page may have sent, and what was sent to a host that is not loopback, gets a 403.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := fromBrowser(r); reason != "" {
		accessDenied(reason).write(w)
		return
	}
	s.api.ServeHTTP(w, r)
}

// Close refuses further invocations, ends every instance with its children, and returns when they are gone. Invocations
// in flight end as crashes; waiting asynchronous events are dropped.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	var all []*instance
	for in := range s.instances {
		all = append(all, in)
	}
	s.mu.Unlock()

	s.cancel()
	for _, in := range all {
		in.kill("")
	}
	s.work.Wait()
	s.starter.stop()
}

// startBackground runs what a service with instances needs beside them. The lock must be held.
func (s *Service) startBackground() {
	if !s.begun {
		s.begun = true
		go s.starter.run()
		s.work.Go(s.watchMemory)
	}
}
