package benchmark

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	figures := []float64{5, 1, 4, 2, 3}
	for p, want := range map[int]float64{1: 1, 20: 1, 21: 2, 50: 3, 99: 5, 100: 5} {
		if got := percentile(figures, p); got != want {
			t.Errorf("percentile %d is %g, want %g", p, got, want)
		}
	}
	if figures[0] != 5 {
		t.Error("the figures were sorted in place")
	}
}

func TestReportJudgesRatiosAndBounds(t *testing.T) {
	t.Parallel()
	report := &Report{Machine: "m"}
	report.add(Row{Part: "a", What: "ratio met", Unit: nanoseconds, Measured: 1500, AnchorName: "x", Anchor: 10_000,
		Goal: 0.15})
	report.add(Row{Part: "a", What: "ratio missed", Unit: octets, Measured: 2, AnchorName: "x", Anchor: 1, Goal: 1.99})
	report.add(Row{Part: "d", What: "bound missed", Unit: octets, Measured: 7_000_001, Goal: 7e6})
	report.add(Row{Part: "e", What: "no goal", Unit: allocations, Measured: 7})
	var missed []string
	for _, row := range report.Missed() {
		missed = append(missed, row.What)
	}
	if diff := cmp.Diff([]string{"ratio missed", "bound missed"}, missed); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
	var table strings.Builder
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"1.50 µs", "10.0 µs x", "0.150", "≤ 0.15", "yes", "7.00 MB", "no"} {
		if !strings.Contains(table.String(), part) {
			t.Errorf("the table does not say %q:\n%s", part, &table)
		}
	}
}

// Both sides of part (a) do the same work, so both must answer a call, and refuse arguments that break the schema.
func TestHandlersDoTheSame(t *testing.T) {
	t.Parallel()
	ours, theirs, err := handlers()
	if err != nil {
		t.Fatal(err)
	}
	call, wrong := callOf(toolName), callOf(toolName)
	wrong.body = strings.Replace(wrong.body, `"cm"`, `"furlong"`, 1)
	for name, handler := range map[string]http.Handler{"dispatcher": ours, "Go SDK": theirs} {
		for _, test := range []struct {
			message message
			answer  string
		}{{call, structured}, {wrong, `"isError":true`}} {
			once, err := served(handler, test.message, test.answer)
			if err == nil {
				err = once()
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if once, err := adapted(handler, call); err != nil || once() != nil {
			t.Errorf("%s: through the adapter: %v", name, err)
		}
	}
}

// The floor's second function must be sent as much as the tool's.
func TestEnvelopeIsAsLongAsTheDispatchers(t *testing.T) {
	t.Parallel()
	want, err := envelope()
	if err != nil {
		t.Fatal(err)
	}
	all, err := tools(1)
	if err != nil {
		t.Fatal(err)
	}
	var sent payloads
	catalogue := single{&registry.Entry{Tool: all[0], Function: functionARN}}
	caller := toolcall.New(toolcall.Config{
		Catalogue: catalogue, Functions: &sent, ServerInfo: json.RawMessage(`{}`), Log: quiet(),
	})
	message, err := jsonrpc.Decode([]byte(callOf(toolName).body))
	if err != nil {
		t.Fatal(err)
	}
	params, err := mcp.ParseParams(message.Params)
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller.Call(t.Context(), &toolcall.Request{
		RequestID: "00000000-0000-0000-0000-000000000000", ProtocolVersion: mcp.Version20260728, Params: params,
		Deadline: time.Now().Add(time.Minute),
	})
	if err != nil || len(sent) != 1 || len(sent[0]) != len(want) {
		t.Errorf("sent %s (%v), want as long as %s", sent, err, want)
	}
}

// payloads are functions that keep what they are sent.
type payloads [][]byte

func (p *payloads) Invoke(_ context.Context, _ string, payload []byte) ([]byte, error) {
	*p = append(*p, payload)
	return []byte(toolAnswer), nil
}

func (p *payloads) Stream(ctx context.Context, name string, payload []byte, _ func(invoke.Progress)) ([]byte, error) {
	return p.Invoke(ctx, name, payload)
}

func TestCompareStopsAtAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := compare(t.Context(), effort{rounds: 1, slice: time.Microsecond},
		func() error { return nil }, func() error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
