package locallambda

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func (h *harness) send(function, event string) {
	h.t.Helper()
	output, err := h.client.Invoke(h.t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(function), Payload: []byte(event), InvocationType: types.InvocationTypeEvent,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if output.StatusCode != http.StatusAccepted || len(output.Payload) > 0 {
		h.t.Fatalf("an event was answered with %d %s", output.StatusCode, output.Payload)
	}
}

func TestAFailedEventIsTriedAgainAndReported(t *testing.T) {
	t.Parallel()
	records := make(chan Record, 1)
	g := newGates(t)
	h := newHarness(t, Options{
		RetryDelays: []time.Duration{time.Millisecond, time.Millisecond}, OnFailure: func(r Record) { records <- r },
	})
	arn := h.deploy("careless", Function{})
	event := g.event("gate", "try")
	h.send("careless", event)
	for range 3 {
		g.await(t, "try")
		g.openWith("try", http.StatusTeapot)
	}
	got := <-records
	want := Record{
		Version: "1.0",
		RequestContext: RequestContext{
			FunctionARN: arn, Condition: RetriesExhausted, ApproximateInvokeCount: 3,
		},
		RequestPayload:  json.RawMessage(event),
		ResponseContext: ResponseContext{StatusCode: 200, ExecutedVersion: "1", FunctionError: Unhandled},
		ResponsePayload: json.RawMessage(`{"errorMessage":"the gate is shut","errorType":"errorString"}`),
	}
	ignore := cmp.Options{cmpopts.IgnoreFields(Record{}, "Timestamp"), cmpopts.IgnoreFields(RequestContext{}, "RequestID")}
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got.RequestContext.RequestID == "" || got.Timestamp.IsZero() {
		t.Errorf("record %+v", got)
	}
}

func TestAnEventThatSucceedsLateIsNotReported(t *testing.T) {
	t.Parallel()
	g := newGates(t)
	h := newHarness(t, Options{
		RetryDelays: []time.Duration{time.Millisecond}, OnFailure: func(r Record) { t.Errorf("reported: %+v", r) },
	})
	h.deploy("careless", Function{})
	h.send("careless", g.event("gate", "try"))
	g.await(t, "try")
	g.openWith("try", http.StatusTeapot)
	g.await(t, "try")
	g.open("try")
	eventually(t, "the instance is idle", func() bool { return h.idle("careless") == 1 })
	h.Close()
}

func TestAThrottledEventWaits(t *testing.T) {
	t.Parallel()
	g := newGates(t)
	h := newHarness(t, Options{
		RetryDelays: []time.Duration{}, OnFailure: func(r Record) { t.Errorf("reported: %+v", r) },
	})
	h.deploy("careless", Function{Concurrency: 1})
	held := h.background("careless", g.event("gate", "hold"))
	g.await(t, "hold")
	h.send("careless", g.event("gate", "event"))
	g.open("hold")
	<-held
	g.await(t, "event")
	g.open("event")
	eventually(t, "the instance is idle", func() bool { return h.idle("careless") == 1 })
	h.Close()
}

func TestAnEventGrowsTooOld(t *testing.T) {
	t.Parallel()
	records := make(chan Record, 1)
	g := newGates(t)
	h := newHarness(t, Options{MaxEventAge: time.Nanosecond, OnFailure: func(r Record) { records <- r }})
	h.deploy("careless", Function{Concurrency: 1})
	held := h.background("careless", g.event("gate", "hold"))
	g.await(t, "hold")
	h.send("careless", `{"do":"count"}`)
	got := (<-records).RequestContext
	if got.Condition != EventAgeExceeded || got.ApproximateInvokeCount != 0 {
		t.Errorf("record %+v", got)
	}
	g.open("hold")
	<-held
}
