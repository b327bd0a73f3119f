package locallambda

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// The conditions under which an asynchronous event is given up.
const (
	RetriesExhausted = "RetriesExhausted"
	EventAgeExceeded = "EventAgeExceeded"
)

// Record is what a failure destination gets of an event that was given up.
// Source: docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html.
type Record struct {
	// Version is that of the record's form, "1.0".
	Version string `json:"version"`
	// Timestamp is when the event was given up.
	Timestamp       time.Time       `json:"timestamp"`
	RequestContext  RequestContext  `json:"requestContext"`
	RequestPayload  json.RawMessage `json:"requestPayload"`
	ResponseContext ResponseContext `json:"responseContext,omitzero"`
	// ResponsePayload is the last failure; absent when the function never ran.
	ResponsePayload json.RawMessage `json:"responsePayload,omitempty"`
}

// RequestContext says which event was given up and why.
type RequestContext struct {
	RequestID   string `json:"requestId"`
	FunctionARN string `json:"functionArn"`
	// Condition is RetriesExhausted or EventAgeExceeded.
	Condition string `json:"condition"`
	// ApproximateInvokeCount is how many times the function ran.
	ApproximateInvokeCount int `json:"approximateInvokeCount"`
}

// ResponseContext describes the last run.
type ResponseContext struct {
	StatusCode      int    `json:"statusCode"`
	ExecutedVersion string `json:"executedVersion"`
	FunctionError   string `json:"functionError,omitempty"`
}

// acceptEvent answers at once; the function runs later.
func (s *Service) acceptEvent(w http.ResponseWriter, c call) {
	s.mu.Lock()
	v, err := s.find(c.name, c.qualifier)
	if err == nil && s.closed {
		err = errClosed()
	}
	if err != nil {
		s.mu.Unlock()
		s.refuse(w, err)
		return
	}
	s.work.Add(1)
	s.mu.Unlock()
	e := &event{call: c, service: s, record: Record{
		Version: "1.0", RequestPayload: c.payload,
		RequestContext: RequestContext{RequestID: c.requestID, FunctionARN: v.arn()},
	}}
	go e.run()
	w.WriteHeader(http.StatusAccepted)
}

// event is an asynchronous invocation that is tried until it succeeds or is given up.
type event struct {
	call
	service *Service
	record  Record
}

func (e *event) run() {
	defer e.service.work.Done()
	condition := e.try(time.Now().Add(e.service.options.MaxEventAge))
	if condition == "" {
		return
	}
	e.record.Timestamp = time.Now().UTC()
	e.record.RequestContext.Condition = condition
	e.service.options.Log(e.name, "", []byte("RequestId: "+e.requestID+" Event given up: "+condition))
	if e.service.options.OnFailure != nil {
		e.service.options.OnFailure(e.record)
	}
}

// throttleDelay is the first wait after a refusal for want of concurrency; it doubles up to a minute.
const throttleDelay = 100 * time.Millisecond

// try runs the function until an attempt succeeds, or the service closes, or there is a reason to give up. A refusal is
// no attempt.
func (e *event) try(giveUp time.Time) (condition string) {
	delays, throttle := e.service.options.RetryDelays, throttleDelay
	for {
		wait := throttle
		if done, started := e.attempt(); done {
			return ""
		} else if !started {
			throttle = min(2*throttle, time.Minute)
		} else if len(delays) == 0 {
			return RetriesExhausted
		} else {
			wait, delays = delays[0], delays[1:]
		}
		if time.Now().Add(wait).After(giveUp) {
			return EventAgeExceeded
		}
		select {
		case <-time.After(wait):
		case <-e.service.ctx.Done():
			return ""
		}
	}
}

// attempt runs the function once. Done: it succeeded, or no further attempt can help, since the function is gone or the
// service closes.
func (e *event) attempt() (done, started bool) {
	inv, err := e.service.start(e.call)
	if err != nil {
		var refusal *Error
		return !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests, false
	}
	_, failure, err := inv.outcome(e.service.ctx)
	if err != nil {
		return true, true
	}
	e.record.RequestContext.ApproximateInvokeCount++
	e.record.ResponsePayload = failure
	e.record.ResponseContext = ResponseContext{
		StatusCode: http.StatusOK, ExecutedVersion: inv.version.number, FunctionError: Unhandled,
	}
	return failure == nil, true
}
