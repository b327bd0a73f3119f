package locallambda

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"patchbay/shared/xray"
)

// observer keeps events by the invocation.
type observer struct {
	mu     sync.Mutex
	events map[string][]Event
	order  []string
}

func (o *observer) observe(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.events == nil {
		o.events = map[string][]Event{}
	}
	if o.events[e.RequestID] == nil {
		o.order = append(o.order, e.RequestID)
	}
	o.events[e.RequestID] = append(o.events[e.RequestID], e)
}

// steps are those of the n-th invocation, with what its end says.
func (o *observer) steps(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n >= len(o.order) {
		return "nothing"
	}
	var steps []string
	for _, e := range o.events[o.order[n]] {
		steps = append(steps, strings.TrimSpace(string(e.Step)+" "+e.Failure))
	}
	return strings.Join(steps, ", ")
}

func TestObserve(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		function Function
		events   []string // each invoked after the other
		want     []string
	}{
		"cold, then not": {Function{}, []string{`{"do":"count"}`, `{"do":"count"}`},
			[]string{"asked, starting, begun, ended", "asked, begun, ended"}},
		"a failure": {Function{}, []string{`{"do":"error"}`}, []string{"asked, starting, begun, ended errorString"}},
		"an instance that dies": {Function{}, []string{`{"do":"exit"}`},
			[]string{"asked, starting, begun, ended Runtime.ExitError"}},
		"an init that fails, and is tried again": {Function{Env: map[string]string{"INIT": "exit"}},
			[]string{`{}`}, []string{"asked, starting, starting, ended Runtime.ExitError"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o observer
			h := newHarness(t, Options{Observe: o.observe})
			h.deploy("careless", test.function)
			for _, event := range test.events {
				h.invoke("careless", event)
			}
			for i, want := range test.want {
				if got := o.steps(i); got != want {
					t.Errorf("invocation %d: got %s, want %s", i, got, want)
				}
			}
			for _, events := range o.events {
				for i, e := range events {
					if e.Function != "careless" || e.Version != "1" || xray.Root(e.Trace) == "" || e.Time.IsZero() ||
						(e.Instance != "") != slices.Contains([]Step{Starting, Begun}, e.Step) ||
						i > 0 && e.Time.Before(events[i-1].Time) {
						t.Errorf("got %+v", e)
					}
				}
			}
		})
	}
}

// What was refused has a beginning and an end, too.
func TestObserveRefusals(t *testing.T) {
	t.Parallel()
	var o observer
	h := newHarness(t, Options{Observe: o.observe})
	h.deploy("careless", Function{})
	name := "nobody"
	if _, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &name}); err == nil {
		t.Fatal("a function that is not there runs")
	}
	h.Close()
	name = "careless"
	if _, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &name}); err == nil {
		t.Fatal("a closed service runs functions")
	}
	for i, want := range []string{"asked, ended ResourceNotFoundException", "asked, ended ServiceException"} {
		if got := o.steps(i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Whoever invokes for a request says so, and the caller sees the end of nothing that was not told before.
func TestObserveWhoseInvocationItIs(t *testing.T) {
	t.Parallel()
	var o observer
	h := newHarness(t, Options{Observe: o.observe})
	arn := h.deploy("careless", Function{})
	response, err := h.Invoke(WithRequestID(context.Background(), "r"), arn, []byte(`{"do":"count"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	if got := o.steps(0); !strings.HasSuffix(got, "ended") {
		t.Errorf("the caller has the whole answer after %s", got)
	}
	for _, e := range o.events[response.RequestID] {
		if e.For != "r" {
			t.Errorf("got %+v", e)
		}
	}
}
