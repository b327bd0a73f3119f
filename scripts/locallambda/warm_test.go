package locallambda

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWarmStartsTheInstanceOfTheNextInvocation(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	mark := filepath.Join(t.TempDir(), "mark")
	arn := h.deploy("careless", Function{Env: map[string]string{"INIT": "none", "INIT_MARK": mark}, Concurrency: 1})
	if err := h.Warm(arn); err != nil {
		t.Fatal(err)
	}
	if n := h.idle("careless"); n != 1 {
		t.Fatalf("%d instances are idle, want the warm one", n)
	}
	warm := h.only().cmd.Process.Pid
	if processState(warm) != "" { // where it can be read
		eventually(t, "the warm instance is stopped", func() bool { return processState(warm) == "T" })
	}
	for range 2 {
		if pid := h.pid(arn); pid != warm {
			t.Errorf("process %d took the invocation, not the warm one, %d", pid, warm)
		}
	}
}

func TestWarmTellsWhyAFunctionDoesNotComeToLife(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ program, init, text string }{
		"it ends":    {"careless", "exit", "Runtime.ExitError: RequestId: "},
		"it hangs":   {"careless", "hang", "Runtime.ExitError"},
		"it reports": {"raw", "error", "starting raw: Extension.Bad: no configuration"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := Options{}
			if c.init == "hang" {
				options.InitTimeout = 50 * time.Millisecond
			}
			h := newHarness(t, options)
			err := h.Warm(h.deploy(c.program, Function{Env: map[string]string{"INIT": c.init}}))
			var failed *InitError
			if !errors.As(err, &failed) || failed.Function != c.program || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want an *InitError that says %q", err, c.text)
			}
			if n := h.idle(c.program); n != 0 {
				t.Errorf("%d instances are idle", n)
			}
		})
	}
}

func TestInitErrorTellsWhere(t *testing.T) {
	t.Parallel()
	node := &InitError{Function: "probe", Payload: []byte(`{"errorType":"ReferenceError","errorMessage":"x is not defined",
		"trace":["ReferenceError: x is not defined","    at file:///x/app.mjs:3:1","    at node:internal/modules:1:2"]}`)}
	if node.Error() != "starting probe: ReferenceError: x is not defined\n    at file:///x/app.mjs:3:1" {
		t.Errorf("got %s", node)
	}
	err := &InitError{Function: "probe", Payload: []byte(`{"errorType":"Runtime.UserCodeSyntaxError",
		"errorMessage":"Syntax error in module 'app'","stackTrace":["  File \"/x/app.py\" Line 3\n    def (\n"]}`)}
	want := "starting probe: Runtime.UserCodeSyntaxError: Syntax error in module 'app'\n" +
		"  File \"/x/app.py\" Line 3\n    def ("
	if err.Error() != want {
		t.Errorf("got %s", err)
	}
	if got := (&InitError{Function: "probe", Payload: []byte("odd")}).Error(); got != "starting probe: odd" {
		t.Errorf("got %s", got)
	}
}

func TestWarmRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	arn := h.deploy("careless", Function{})
	for name, arn := range map[string]string{"no function": h.options.place().arn("nobody"), "no version": arn + "7"} {
		var refusal *Error
		if err := h.Warm(arn); !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound {
			t.Errorf("%s: got %v", name, err)
		}
	}
	h.Close()
	var refusal *Error
	if err := h.Warm(arn); !errors.As(err, &refusal) || refusal.Status != http.StatusInternalServerError {
		t.Errorf("after Close: got %v", err)
	}
}

// A version that is removed while an instance of it starts keeps none.
func TestWarmEndsWithTheVersion(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	arn := h.deploy("careless", Function{Env: map[string]string{"INIT": "gate", "INIT_GATE": g.url + "/init"}})
	done := make(chan error, 1)
	go func() { done <- h.Warm(arn) }()
	g.await(t, "init")
	if err := h.Remove("careless", "1"); err != nil {
		t.Fatal(err)
	}
	g.open("init")
	var refusal *Error
	if err := <-done; !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound {
		t.Errorf("got %v", err)
	}
	eventually(t, "no instance is left", func() bool {
		h.Service.mu.Lock()
		defer h.Service.mu.Unlock()
		return len(h.instances) == 0
	})
}
