package integration

import (
	"testing"
	"time"
)

// eventually waits for what happens beside the test. The bound only ends a test that would hang; nothing is said of how
// long it takes.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for range 3000 {
		if happened() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}
