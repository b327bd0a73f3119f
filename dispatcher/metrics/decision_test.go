package metrics_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/metrics"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		decision metrics.Decision
		want     [][]string
	}{
		"let through": {metrics.Decision{}, nil},
		"unauthorized": {metrics.Decision{Unauthorized: true},
			[][]string{{"Patchbay deployment=desk-prod Unauthorized=1 Count"}}},
		"denied": {metrics.Decision{Denied: true}, [][]string{{"Patchbay deployment=desk-prod Denied=1 Count"}}},
		"undecided": {metrics.Decision{AuthorizerError: true},
			[][]string{{"Patchbay deployment=desk-prod AuthorizerErrors=1 Count"}}},
	} {
		got := linesOf(t, func(w *metrics.Writer) { w.Decision(test.decision) })
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The authorizer's new instances are none of the dispatcher's, also by their first line.
func TestDecisionsCountNoColdStarts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	metrics.New(&out, options()).Decision(metrics.Decision{Denied: true})
	points, err := extract(out.Bytes())
	if err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if diff := cmp.Diff([]string{"Patchbay deployment=desk-prod Denied=1 Count"}, points); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var none *metrics.Writer
	none.Decision(metrics.Decision{Denied: true})
}
