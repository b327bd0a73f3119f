package locallambda

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Step is a step of an invocation.
type Step string

// The steps of an invocation, in their order.
const (
	// Asked: a caller wants it. What was refused goes on to Ended at once.
	Asked Step = "asked"
	// Starting: an instance is started for it; there may be a second one, when the first fails. Lines that the instance
	// logs from now on are of this invocation.
	Starting Step = "starting"
	// Begun: an instance has it, and has logged nothing of it yet.
	Begun Step = "begun"
	// Ended: it was answered, has failed, or was refused. The caller has not seen the end yet.
	Ended Step = "ended"
)

// Event is a step that an invocation takes.
type Event struct {
	Step Step
	Time time.Time
	// RequestID is the invocation's.
	RequestID string
	Function  string
	// Version is empty where there is no such version.
	Version string
	// Instance is the one that is starting, or that has the invocation; empty at the other steps.
	Instance string
	// For is the request that WithRequestID has named; empty for invocations by the Lambda API.
	For string
	// Trace is the X-Ray header that the function gets, in which an invocation by the Lambda API has the same Parent as
	// the function that asked for it.
	Trace string
	// Failure is, at the end, the errorType of a failure or the code of a refusal; empty for an answer.
	Failure string
}

type requestKey struct{}

// WithRequestID returns a context in which Service.Invoke tells Options.Observe for which request it is, by its id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// requestOf is the id that WithRequestID has named; empty for none.
func requestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

func (s *Service) observe(step Step, c call, versionNumber, instanceID, failure string) {
	s.options.Observe(Event{
		Step: step, Time: time.Now(), RequestID: c.requestID, Function: c.name, Version: versionNumber,
		Instance: instanceID, For: c.of, Trace: c.trace, Failure: failure,
	})
}

// refused is the code of a refusal.
func refused(err error) string {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return errUnknown
}

// errUnknown stands for a failure that does not say what it is.
const errUnknown = "Unknown"

// errorType is what kind of failure a payload reports; empty for none.
func errorType(payload []byte) string {
	if payload == nil {
		return ""
	}
	var report struct{ ErrorType string }
	if json.Unmarshal(payload, &report) != nil || report.ErrorType == "" {
		return errUnknown
	}
	return report.ErrorType
}
