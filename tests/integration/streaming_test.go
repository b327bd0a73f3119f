package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/tests/integration/clients"
)

// A report reaches the client while the tool runs: the tool makes its next report only after the client has read the
// one before, so a stream that is held back anywhere would never end. No clock is asked.
func TestProgressArrivesWhileTheToolRuns(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	open := func(step int) {
		if err := os.WriteFile(fmt.Sprintf("%s.%d", gate, step), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const steps = 3
	open(1)
	response := post(t, fixtures.URL, "tools/call", "slow_progress",
		callParams("slow_progress", fmt.Sprintf(`{"gate":%q,"steps":%d}`, gate, steps)))
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("Content-Type is %q", kind)
	}
	stream := newEvents(response.Body)
	for step := 1; step <= steps; step++ {
		event := stream.next()
		if !strings.Contains(event, fmt.Sprintf(`"progress":%d,`, step)) ||
			!strings.Contains(event, `"progressToken":"p"`) {
			t.Fatalf("event %d is %q", step, event)
		}
		t.Logf("event %d arrived while the tool waits: %s", step, event)
		if step < steps {
			open(step + 1)
		}
	}
	if last := stream.next(); !strings.Contains(last, `"3 steps"`) || !strings.Contains(last, `"id":1`) {
		t.Errorf("the last event is %q", last)
	}
	if more := stream.next(); more != "" {
		t.Errorf("after the answer came %q", more)
	}
}

// Once a stream is open a failure is its last event, never a cut.
func TestACrashAfterProgressEndsTheStreamWithAnAnswer(t *testing.T) {
	t.Parallel()
	response := post(t, fixtures.URL, "tools/call", "crash_after_progress", callParams("crash_after_progress", `{}`))
	result := decodeResult(t, readAnswer(t, response))
	if !result.IsError || !strings.Contains(result.text(), "request id") {
		t.Errorf("got %+v", result)
	}
}

// A client that leaves stops the writing, not the call: the gateway does not say that it left.
func TestACallRunsOnWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	if err := os.WriteFile(gate+".1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	response, trace := postTraced(t, fixtures.URL, "slow_progress", fmt.Sprintf(`{"gate":%q,"steps":2}`, gate))
	if event := newEvents(response.Body).next(); !strings.Contains(event, `"progress":1,`) {
		t.Fatalf("got %q", event)
	}
	response.Body.Close()
	if lines := fixtures.log.find("dispatcher", trace); len(lines) > 0 {
		t.Fatalf("the call has ended before it may: %q", lines)
	}
	if err := os.WriteFile(gate+".2", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if line := fixtures.logged(t, trace); !strings.Contains(line, `"outcome":"ok"`) {
		t.Errorf("logged %s", line)
	}
}

// The tool reports 0, 50 and 100 of 100, and every client passes all of them on, in that order.
func TestEveryClientSeesProgress(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, client clients.Client) {
		if !client.Progress {
			return
		}
		report := client.Call(t, fixtures.URL, clients.Call{Tool: "test_tool_with_progress", Progress: true})
		var want []clients.Progress
		for _, step := range []float64{0, 50, 100} {
			want = append(want, clients.Progress{Progress: step, Total: 100, Message: "working"})
		}
		if diff := cmp.Diff(want, report.Calls[0].Progress); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
	})
}
