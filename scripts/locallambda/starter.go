package locallambda

import (
	"runtime"
	"sync"
)

// starter starts processes from one thread that lives as long as they do: Linux sends a child its parent-death signal
// when the *thread* that started it ends, and Go may end a thread at any time.
type starter struct {
	jobs     chan job
	stopOnce sync.Once
}

type job struct {
	start  func() error
	result chan error
}

func newStarter() *starter { return &starter{jobs: make(chan job)} }

// run serves do until stop.
func (s *starter) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for j := range s.jobs {
		j.result <- j.start()
	}
}

func (s *starter) do(start func() error) error {
	j := job{start: start, result: make(chan error)}
	s.jobs <- j
	return <-j.result
}

// stop may be called when every process has ended, and again.
func (s *starter) stop() { s.stopOnce.Do(func() { close(s.jobs) }) }
