package locallambda

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
)

// InitError says that a function does not come to life: its program ended, took too long, or reported why it cannot
// work.
type InitError struct {
	Function string
	// Payload is the failure as JSON with errorType and errorMessage, and whatever else the runtime reports.
	Payload []byte
}

// Error is what the runtime says, with where that is in the function's code: the stack of Python, and what is not
// Node.js itself of the trace of Node.js.
func (e *InitError) Error() string {
	var report struct {
		ErrorType, ErrorMessage string
		StackTrace, Trace       []string
	}
	if json.Unmarshal(e.Payload, &report) != nil {
		return "starting " + e.Function + ": " + string(e.Payload)
	}
	text := "starting " + e.Function + ": " + report.ErrorType + ": " + report.ErrorMessage
	for _, line := range report.StackTrace {
		text += "\n" + strings.TrimRight(line, "\n")
	}
	for _, line := range report.Trace {
		if strings.HasPrefix(line, "    at ") && !strings.Contains(line, "node:") {
			text += "\n" + line
		}
	}
	return text
}

// Warm starts an instance of the version that the ARN names, and returns when it waits for work: what provisioned
// concurrency does on AWS. The next invocation does not wait for a start. An instance that nobody has use for stays as
// idle as any other. The error is an *InitError when the function does not come to life, and an *Error when there is no
// such version or the service is closed.
func (s *Service) Warm(arn string) error {
	to, err := s.options.place().target(arn, "")
	if err != nil {
		return err
	}
	v, err := s.prepare(to)
	if err != nil {
		return err
	}
	defer s.work.Done()
	inv := &invocation{call: call{target: to, requestID: uuid.NewString()}, version: v}
	in, failure := s.init(inv, s.options.InitTimeout, "")
	if failure != nil {
		return &InitError{Function: v.Name, Payload: failure}
	}
	if !s.rest(in) {
		in.kill("")
		<-in.exited
		return notFound(to.arn())
	}
	in.freeze()
	return nil
}

// prepare finds the version to start an instance of. The caller is to end with s.work.Done.
func (s *Service) prepare(to target) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	v, err := s.find(to.name, to.qualifier)
	if err != nil {
		return nil, err
	}
	s.startBackground()
	s.work.Add(1)
	return v, nil
}

// rest puts a fresh instance among the idle ones. It is false when nobody can have use for it any more.
func (s *Service) rest(in *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.state != starting || s.closed || in.version.removed {
		in.state = ending
		return false
	}
	in.state = idle
	in.version.idle = append(in.version.idle, in)
	return true
}
