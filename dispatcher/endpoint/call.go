package endpoint

import (
	"context"
	"encoding/json"
	"time"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// answerMargin is kept back from every deadline, so that an answer which says "not in time" is itself in time.
const answerMargin = 500 * time.Millisecond

func (ex *exchange) callTool(ctx context.Context) (json.RawMessage, error) {
	// The client may leave at any time, and the gateway does not say so. A call that has begun runs to its end.
	ctx = context.WithoutCancel(ctx)
	ex.answer.keepAwake()
	ex.calling = true
	result, err := ex.config.Caller.Call(ctx, &toolcall.Request{
		RequestID:       ex.facts.RequestID,
		TraceID:         ex.facts.TraceID,
		Params:          ex.params,
		ProtocolVersion: ex.version,
		Modern:          ex.modern,
		Header:          ex.http.Header,
		Principal:       ex.facts.Principal,
		SourceIP:        ex.facts.SourceIP,
		Progress:        ex.progress(),
		Deadline:        ex.deadline(),
	})
	ex.called = true
	return result, err
}

// deadline is when the answer must be on its way: the gateway's patience or the dispatcher's own time-out, whichever
// ends first.
func (ex *exchange) deadline() time.Time {
	deadline, bounded := ex.http.Context().Deadline()
	if ex.config.AnswerWithin > 0 {
		if gateway := ex.received().Add(ex.config.AnswerWithin); !bounded || gateway.Before(deadline) {
			deadline, bounded = gateway, true
		}
	}
	if !bounded {
		deadline = ex.started.Add(15 * time.Minute)
	}
	return deadline.Add(-answerMargin)
}

// received is when the gateway began to wait, which is before this process saw the request: an authorizer or a cold
// start may lie between. Its clock and ours differ, so it is believed up to half of its patience; a time in the future,
// or one after which it waits no more, is no use at all.
func (ex *exchange) received() time.Time {
	age := ex.started.Sub(ex.facts.Received)
	if age <= 0 || age >= ex.config.AnswerWithin {
		return ex.started
	}
	return ex.started.Add(-min(age, ex.config.AnswerWithin/2))
}

// progress returns where a tool's reports go: to the client that gave a token and reads a stream, or nowhere. Values
// that do not increase are left out, since the protocol forbids them (basic/patterns/progress#progress-flow).
func (ex *exchange) progress() func(invoke.Progress) {
	token := ex.params.Meta.ProgressToken
	if token == nil || !ex.answer.accepts.stream {
		return nil
	}
	var last *float64
	return func(p invoke.Progress) {
		if last != nil && p.Progress <= *last {
			return
		}
		last = &p.Progress
		params, err := json.Marshal(struct {
			ProgressToken json.RawMessage `json:"progressToken"`
			invoke.Progress
		}{token, p})
		if err != nil {
			return
		}
		ex.answer.notify(jsonrpc.AppendNotification(nil, mcp.NotificationProgress, params))
	}
}
