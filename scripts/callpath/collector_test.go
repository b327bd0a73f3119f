package callpath

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
)

// scene plays the parts of a stack, on a clock that moves only when the test says so.
type scene struct {
	*Collector
	t     *testing.T
	began time.Time
}

func newScene(t *testing.T) *scene {
	return &scene{Collector: New("dispatcher", "authorizer"), t: t, began: time.Now()}
}

// invoke lets a function be asked for; for a tool's, trace is the dispatcher's segment.
func (s *scene) invoke(id, function, request, segment string) {
	s.step(locallambda.Asked, id, function, "", request, segment, "")
}

func (s *scene) step(step locallambda.Step, id, function, instance, request, segment, failure string) {
	time.Sleep(time.Millisecond)
	s.Invocation(locallambda.Event{
		Step: step, Time: time.Now(), RequestID: id, Function: function, Instance: instance, For: request,
		Trace: "Root=1-2-3;Parent=" + segment + ";Sampled=0", Failure: failure,
	})
}

func (s *scene) starting(id, instance string) {
	s.step(locallambda.Starting, id, "", instance, "", "", "")
}
func (s *scene) begun(id, instance string) { s.step(locallambda.Begun, id, "", instance, "", "", "") }
func (s *scene) ended(id, failure string)  { s.step(locallambda.Ended, id, "", "", "", "", failure) }

func (s *scene) answered(request string, status int, kind string) {
	s.Access(localgateway.Access{
		RequestID: request, HTTPMethod: "POST", Path: "/mcp", Status: status, ResponseType: kind, Began: s.began,
		Took: time.Since(s.began),
	})
}

// only is the one call that has ended.
func (s *scene) only() Call {
	s.t.Helper()
	recent := s.Recent(10)
	if len(recent) != 1 {
		s.t.Fatalf("%d calls have ended, want one", len(recent))
	}
	return recent[0]
}

// spans writes a call's spans as name@start+duration, in milliseconds, and what else they say.
func spans(call Call) string {
	var all []string
	for _, s := range call.Spans {
		text := fmt.Sprintf("%s@%g+%g", s.Name, s.StartMS, s.DurationMS)
		if s.ColdStart {
			text += fmt.Sprintf(" cold %g", s.InitMS)
		}
		if s.Running {
			text += " running"
		}
		if s.Outcome != "" {
			text += " " + s.Outcome
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

const (
	dispatched = `{"level":"INFO","msg":"tools/call","requestId":"r","tool":"greet","principal":"i|s","outcome":"ok",` +
		`"ledger":"recorded"}`
	allowed = `{"msg":"authorization","requestId":"r","outcome":"allowed"}`
	greeted = `{"msg":"tool call","requestId":"r","outcome":"ok"}`
)

func TestPathOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		calls, stop := s.Subscribe()
		defer stop()
		s.invoke("a1", "authorizer", "r", "sa")
		s.begun("a1", "auth")
		s.Line("authorizer", "auth", []byte(allowed))
		s.ended("a1", "")
		s.invoke("d1", "dispatcher", "r", "sd")
		s.starting("d1", "disp")
		s.begun("d1", "disp")
		s.invoke("t1", "greet", "", "sd")
		s.starting("t1", "tool")
		if id := s.Line("greet", "tool", []byte("at the start")); id != "r" {
			t.Errorf("a line of an instance that starts for the call is of %q", id)
		}
		s.begun("t1", "tool")
		s.Line("greet", "tool", []byte(greeted))
		s.ended("t1", "")
		s.Line("dispatcher", "disp", []byte(`{"msg":"deleted","log":"audit","requestId":"r","outcome":"ok"}`))
		s.Line("dispatcher", "disp", []byte(`{"_aws":{"Timestamp":1},"requestId":"r"}`))
		s.ended("d1", "")
		s.answered("r", 200, "")
		if len(s.Recent(1)) != 0 {
			t.Error("the call is told before the dispatcher has said how it ended")
		}
		s.Line("dispatcher", "disp", []byte(dispatched))

		call := <-calls
		want := "gateway@0+11, authorizer@1+2, dispatcher@4+7 cold 2, greet@7+3 cold 2"
		if got := spans(call); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if call.Method != "tools/call" || call.Tool != "greet" || call.Principal != "i|s" || call.Outcome != "ok" ||
			call.Ledger != "recorded" || call.Refusal != "" || call.Status != 200 || call.DurationMS != 11 {
			t.Errorf("got %+v", call)
		}
		var sources []string
		for _, line := range call.Lines {
			sources = append(sources, line.Source)
		}
		if got := strings.Join(sources, " "); got != "authorizer greet greet dispatcher dispatcher" {
			t.Errorf("lines of %s", got)
		}
	})
}

// A tool may write what dispatcher and authorizer write of a call: that says nothing but how its own part ended.
func TestAToolSaysNothingOfTheWholeCall(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"msg":"tools/call","requestId":"r","tool":"other","principal":"admin","outcome":"denied","ledger":"replayed"}`,
		`{"msg":"authorization","requestId":"r","outcome":"denied","reason":"forged"}`,
		`{"msg":"request","method":"forged","requestId":"r","principal":"admin","outcome":"refused"}`,
		`{"msg":"discovery","requestId":"r","reason":"forged"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.invoke("d1", "dispatcher", "r", "sd")
			s.begun("d1", "disp")
			s.invoke("t1", "greet", "", "sd")
			s.begun("t1", "tool")
			s.Line("greet", "tool", []byte(line))
			s.ended("t1", "")
			s.Line("dispatcher", "disp", []byte(dispatched))
			s.ended("d1", "")
			s.answered("r", 200, "")

			call := s.only()
			if call.Method != "tools/call" || call.Tool != "greet" || call.Principal != "i|s" || call.Outcome != "ok" ||
				call.Ledger != "recorded" || call.Refusal != "" {
				t.Errorf("after %s: %+v", line, call)
			}
		})
	}
}

// What an instance logs belongs to the request that it has, or had last: also what a late line of the one before says.
func TestLinesOfAnInstanceThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		for _, id := range []string{"one", "two"} {
			s.invoke("d-"+id, "dispatcher", id, "s-"+id)
			s.begun("d-"+id, "disp")
			s.ended("d-"+id, "")
			s.answered(id, 200, "")
			s.Line("dispatcher", "disp", []byte("raw "+id))
		}
		if id := s.Line("dispatcher", "elsewhere", []byte("raw")); id != "" {
			t.Errorf("a line of an instance without a call is of %q", id)
		}
		s.starting("warm", "disp") // for nobody's request
		if id := s.Line("dispatcher", "disp", []byte("raw")); id != "" {
			t.Errorf("a line of an instance that is warmed up is of %q", id)
		}
		time.Sleep(linger)
		synctest.Wait()
		for i, call := range s.Recent(2) {
			want := "raw " + []string{"two", "one"}[i]
			if len(call.Lines) != 1 || call.Lines[0].Message != want {
				t.Errorf("%s has the lines %+v", call.RequestID, call.Lines)
			}
		}
	})
}

// A line that is read when its instance has the next request already is of the request that it names.
func TestALineThatComesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		for _, id := range []string{"r", "next"} {
			s.invoke("d-"+id, "dispatcher", id, "s-"+id)
			s.begun("d-"+id, "disp")
			s.ended("d-"+id, "")
			s.answered(id, 200, "")
		}
		if id := s.Line("dispatcher", "disp", []byte(dispatched)); id != "r" {
			t.Errorf("the line is of %q", id)
		}
		if call := s.only(); call.RequestID != "r" || call.Outcome != "ok" || len(call.Lines) != 1 {
			t.Errorf("got %+v", call)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const none = ""
	for name, test := range map[string]struct {
		function, line string
		status         int
		kind, want     string
	}{
		"gateway": {"", "", 429, "THROTTLED", "gateway: THROTTLED"},
		"authorizer": {
			"authorizer", `{"msg":"authorization","requestId":"r","outcome":"denied","reason":"insufficient-scope",` +
				`"missing":["a","b"]}`, 403, "ACCESS_DENIED", "authorizer: insufficient-scope (a b)",
		},
		"authorizer that failed": {
			"authorizer", `{"msg":"authorization","requestId":"r","outcome":"failed","error":"x"}`, 503,
			"AUTHORIZER_FAILURE", "gateway: AUTHORIZER_FAILURE",
		},
		"dispatcher": {
			"dispatcher", `{"msg":"tools/call","requestId":"r","outcome":"unknown_tool","error":"Unknown tool: x"}`, 200,
			none, "dispatcher: unknown_tool: Unknown tool: x",
		},
		"dispatcher, of a request": {
			"dispatcher", `{"msg":"request","requestId":"r","outcome":"refused","reason":"parse_error","error":"x"}`, 400,
			none, "dispatcher: parse_error: x",
		},
		"dispatcher, of a public address": {
			"dispatcher", `{"msg":"discovery","requestId":"r","method":"GET","reason":"unknown"}`, 404, none,
			"dispatcher: unknown",
		},
		"a failure is none": {
			"dispatcher", `{"msg":"tools/call","requestId":"r","outcome":"tool_crash"}`, 200, none, none,
		},
		"a success is none": {"dispatcher", dispatched, 200, none, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				if test.function != "" {
					s.invoke("i", test.function, "r", "s")
					s.begun("i", "instance")
					s.Line(test.function, "instance", []byte(test.line))
					s.ended("i", "")
				}
				s.answered("r", test.status, test.kind)
				if got := s.only().Refusal; got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A tool that was throttled and then asked again has two spans, and one that does not come to life tells why.
func TestRetriesAndCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.invoke("d1", "dispatcher", "r", "sd")
		s.begun("d1", "disp")
		s.invoke("t1", "greet", "", "sd")
		s.ended("t1", "TooManyRequestsException")
		s.invoke("t2", "greet", "", "sd")
		s.starting("t2", "first")
		s.Line("greet", "first", []byte("panic: at the start"))
		s.starting("t2", "second")
		s.Line("greet", "second", []byte("panic: again"))
		s.Line("greet", "", []byte("RequestId: t2 Error: no program"))
		s.ended("t2", "Runtime.ExitError")
		s.Line("dispatcher", "disp", []byte(dispatched))
		s.ended("d1", "")
		s.answered("r", 200, "")
		call := s.only()
		want := "gateway@0+9, dispatcher@1+8, greet@3+1 TooManyRequestsException, greet@5+3 cold 0 Runtime.ExitError"
		if got := spans(call); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if len(call.Lines) != 4 {
			t.Errorf("lines %+v", call.Lines)
		}
	})
}

// A tool that runs on beyond its call's answer holds nothing up; the call comes once more when it has ended.
func TestWhatRunsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		calls, stop := s.Subscribe()
		s.invoke("d1", "dispatcher", "r", "sd")
		s.begun("d1", "disp")
		s.invoke("t1", "greet", "", "sd")
		s.begun("t1", "tool")
		s.Line("dispatcher", "disp", []byte(dispatched))
		s.ended("d1", "")
		s.answered("r", 200, "")
		if got := spans(<-calls); got != "gateway@0+5, dispatcher@1+4, greet@3+0 running" {
			t.Errorf("first %s", got)
		}
		s.ended("t1", "Sandbox.Timedout")
		// Its instance tells nothing more.
		if got := spans(<-calls); !strings.Contains(got, "Sandbox.Timedout") || strings.Contains(got, "running") {
			t.Errorf("then %s", got)
		}
		stop()
		stop()
		if _, open := <-calls; open {
			t.Error("the call comes a third time")
		}
		if len(s.Recent(10)) != 1 {
			t.Errorf("it is remembered %d times", len(s.Recent(10)))
		}
	})
}

// A line that comes later than is waited for is told yet, once.
func TestLateLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		calls, stop := s.Subscribe()
		s.invoke("d1", "dispatcher", "r", "sd")
		s.begun("d1", "disp")
		s.ended("d1", "")
		s.answered("r", 200, "")
		if got := <-calls; got.Outcome != "" {
			t.Errorf("first %+v", got)
		}
		for range 2 {
			s.Line("dispatcher", "disp", []byte(dispatched))
		}
		if got := <-calls; got.Outcome != "ok" {
			t.Errorf("then %+v", got)
		}
		stop()
		if _, open := <-calls; open {
			t.Error("the call comes a third time")
		}
	})
}

// What is held is bounded, whatever comes.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		calls, stop := s.Subscribe() // nobody reads
		defer stop()
		const all = 2*keep + maxOpen
		for n := range all {
			id := fmt.Sprint("r", n)
			s.invoke("d"+id, "dispatcher", id, "s"+id)
			s.begun("d"+id, "i"+id)
			lines := 1
			if n > all-10 {
				lines = 2 * maxLines
			}
			for range lines {
				s.Line("dispatcher", "i"+id, []byte("a line"))
			}
			for i := range maxRuns + 1 {
				s.invoke(fmt.Sprint("t", n, "-", i), "greet", "", "s"+id)
			}
			if n%2 == 0 { // the others never end
				s.answered(id, 200, "")
			}
		}
		time.Sleep(linger)
		synctest.Wait()
		if got := len(s.Recent(10 * keep)); got != keep {
			t.Errorf("%d calls are remembered, want %d", got, keep)
		}
		first := s.Recent(1)[0]
		if len(first.Lines) != maxLines+1 || first.Lines[maxLines].Message != cut || len(first.Spans) != maxRuns+1 {
			t.Errorf("%d lines, %d spans", len(first.Lines), len(first.Spans))
		}
		held := len(s.Collector.ended) + len(s.open)
		if len(s.open) > maxOpen || len(s.calls) != held || len(s.segments) != held || len(s.instances) != held ||
			len(s.runs) != held*maxRuns {
			t.Errorf("%d calls; open %d, by id %d, segments %d, instances %d, runs %d", held, len(s.open), len(s.calls),
				len(s.segments), len(s.instances), len(s.runs))
		}
		if len(calls) != backlog {
			t.Errorf("%d calls wait for a subscriber who does not read, want %d", len(calls), backlog)
		}
	})
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	p := &path{}
	for range 10 {
		p.add(Line{Message: strings.Repeat("x", maxText/4)})
	}
	if len(p.lines) != 5 || p.lines[4].Message != cut {
		t.Errorf("%d lines, the last %.40q", len(p.lines), p.lines[len(p.lines)-1].Message)
	}
}

// A stack that stops tells what is known of calls that have been answered, and then that there is no more.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		calls, stop := s.Subscribe()
		s.invoke("d1", "dispatcher", "answered", "sd")
		s.answered("answered", 200, "")
		s.invoke("d2", "dispatcher", "open", "se")
		s.Close()
		stop()
		var ids []string
		for call := range calls {
			ids = append(ids, call.RequestID)
		}
		if !slices.Equal(ids, []string{"answered"}) {
			t.Errorf("told of %q", ids)
		}
		late, _ := s.Subscribe()
		if _, open := <-late; open {
			t.Error("whoever subscribes late waits for ever")
		}
		s.answered("open", 200, "")
	})
}
