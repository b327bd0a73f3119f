package locallambda

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// TestEverySlotIsGivenBack lets callers quarrel for instances that work, fail, crash, and are removed under way, and
// checks the accounts at the end.
func TestEverySlotIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, function := range map[string]Function{"reserved": {Concurrency: 3}, "unreserved": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, Options{AccountConcurrency: 3})
			h.deploy("careless", function)
			events := []string{`{"do":"count"}`, `{"do":"exit","code":2}`, `{"do":"count"}`, `{"do":"error"}`, `{"do":"panic"}`}
			var callers sync.WaitGroup
			for caller := range 6 {
				callers.Go(func() {
					for round := range 20 {
						h.tolerate("careless", events[(caller+round)%len(events)])
					}
				})
			}
			for range 5 {
				arn := h.deploy("careless", function)
				h.tolerate(arn, `{"do":"count"}`)
				if err := h.Remove("careless", arn[strings.LastIndex(arn, ":")+1:]); err != nil {
					t.Error(err)
				}
			}
			callers.Wait()
			eventually(t, "every account is even", func() bool { return h.accountsAreEven("careless") })
			h.result("careless", `{"do":"count"}`)
		})
	}
}

// tolerate calls a function and minds neither its failures nor a refusal that concurrency or a removal explains.
func (h *harness) tolerate(function, event string) {
	response, err := h.Invoke(h.t.Context(), function, []byte(event))
	var refusal *Error
	if errors.As(err, &refusal) && (refusal.Status == 429 || refusal.Status == 404) {
		return
	}
	if err != nil {
		h.t.Error(err)
		return
	}
	io.Copy(io.Discard, response.Body)
}

func (h *harness) accountsAreEven(name string) bool {
	h.Service.mu.Lock()
	defer h.Service.mu.Unlock()
	f := h.functions[name]
	even := h.unreserved == 0 && f.active == 0 && f.finishing == 0 && len(f.waiters) == 0
	instances := 0
	for _, v := range f.versions {
		instances += len(v.idle)
		even = even && v.finishing == 0
	}
	return even && len(h.instances) == instances
}
