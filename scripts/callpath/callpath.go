// Package callpath puts together the path of each request through a local stack, gateway to dispatcher to tool, from
// what these log while it runs.
package callpath

import "time"

// Call is one request whose answer has ended.
type Call struct {
	// RequestID is the gateway's, which answers and log lines name.
	RequestID string    `json:"requestId"`
	Began     time.Time `json:"began"`
	// DurationMS is how long the gateway took, in milliseconds, to the end of the answer.
	DurationMS float64 `json:"durationMs"`
	// HTTPMethod and Path are the request's; Method is the protocol's, as in tools/call, empty where it was not read.
	HTTPMethod string `json:"httpMethod"`
	Path       string `json:"path"`
	Method     string `json:"method,omitempty"`
	// Status is the answer's.
	Status int `json:"status"`
	// Tool, Principal and Outcome are the dispatcher's words; empty where the request did not get so far.
	Tool      string `json:"tool,omitempty"`
	Principal string `json:"principal,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	// Ledger says what became of the call's record, in the dispatcher's words, as in recorded and replayed; empty where
	// calls are not recorded, or this one was not.
	Ledger string `json:"ledger,omitempty"`
	// Refusal says why the call was refused, and by whom; empty when it was not.
	Refusal string `json:"refusal,omitempty"`
	// Spans are the parts of the path that ran, in the order in which they began. The first is the gateway's.
	Spans []Span `json:"spans"`
	// Lines are the log lines of the call, in order.
	Lines []Line `json:"lines"`
}

// Span is the time that one part had the call.
type Span struct {
	// Name is gateway, authorizer, dispatcher, or the name of the tool's function. A function that was asked twice, since
	// it was throttled at first, has two spans.
	Name string `json:"name"`
	// StartMS is from the call's beginning; both are in milliseconds.
	StartMS    float64 `json:"startMs"`
	DurationMS float64 `json:"durationMs"`
	// ColdStart says that an instance was started for it, and InitMS how much of the time that took, in milliseconds.
	ColdStart bool    `json:"coldStart,omitempty"`
	InitMS    float64 `json:"initMs,omitempty"`
	// Running says that it had not ended when the call had, as where nobody waited for it; DurationMS is 0 then.
	Running bool `json:"running,omitempty"`
	// Outcome is the part's own word, or Lambda's where it has none; empty for success.
	Outcome string `json:"outcome,omitempty"`
}

// Line is a log line of a call.
type Line struct {
	Time time.Time `json:"time"`
	// Source is who wrote it: gateway, or a function's name.
	Source  string `json:"source"`
	Message string `json:"message"`
}
