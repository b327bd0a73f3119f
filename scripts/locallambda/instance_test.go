package locallambda

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	arn := h.deploy("careless", Function{Env: map[string]string{"OWN": "1", "TZ": "UTC"}, MemoryMB: 512})
	output, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(arn), Payload: []byte(`{"do":"describe"}`),
		ClientContext: aws.String("eyJjdXN0b20iOnsiYSI6ImIifX0="),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Environment                []string
		Dir, ARN, RequestID, Trace string
		Client                     map[string]string
		Deadline                   int64
	}
	decode(t, output.Payload, &got)

	dir := filepath.Join(bootstraps, "careless")
	want := []string{
		"AWS_ACCESS_KEY_ID=local", "AWS_DEFAULT_REGION=us-east-1", "AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512", "AWS_LAMBDA_FUNCTION_NAME=careless", "AWS_LAMBDA_FUNCTION_VERSION=1",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand", "AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/careless",
		"AWS_REGION=us-east-1", "AWS_SECRET_ACCESS_KEY=local", "AWS_SESSION_TOKEN=local",
		"LAMBDA_RUNTIME_DIR=" + dir, "LAMBDA_TASK_ROOT=" + dir, "LANG=en_US.UTF-8", "OWN=1",
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin", "TZ=UTC", "_HANDLER=bootstrap",
	}
	// These differ from run to run; the runtime itself sets the trace id.
	environment := slices.DeleteFunc(got.Environment, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "AWS_LAMBDA_RUNTIME_API" || name == "AWS_LAMBDA_LOG_STREAM_NAME" || name == "_X_AMZN_TRACE_ID"
	})
	slices.Sort(environment)
	if diff := cmp.Diff(want, environment); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got.Dir != dir {
		t.Errorf("working directory %s, want %s", got.Dir, dir)
	}
	if got.ARN != arn || got.RequestID == "" || got.Client["a"] != "b" || !strings.HasPrefix(got.Trace, "Root=1-") {
		t.Errorf("context: %+v", got)
	}
	if got.Deadline < time.Now().UnixMilli() {
		t.Errorf("deadline %d has passed", got.Deadline)
	}
	if id, _ := awsmiddleware.GetRequestIDMetadata(output.ResultMetadata); id != got.RequestID {
		t.Errorf("the caller sees request id %q, the function %q", id, got.RequestID)
	}
	if aws.ToString(output.ExecutedVersion) != "1" {
		t.Errorf("executed version %q", aws.ToString(output.ExecutedVersion))
	}
}

func TestAnIdleInstanceIsFrozenAndUsedAgain(t *testing.T) {
	t.Parallel()
	needProc(t)
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	pid := h.pid("careless")
	for invocation := 2; invocation <= 4; invocation++ {
		eventually(t, "the idle instance is stopped", func() bool { return processState(pid) == "T" })
		want := map[string]any{"pid": float64(pid), "invocations": float64(invocation)}
		if diff := cmp.Diff(want, h.result("careless", `{"do":"count"}`)); diff != "" {
			t.Fatalf("answer (-want +got):\n%s", diff)
		}
	}
}

func TestARunningInstanceIsNotFrozen(t *testing.T) {
	t.Parallel()
	needProc(t)
	h, g := newHarness(t, Options{}), newGates(t)
	h.deploy("careless", Function{})
	done := h.background("careless", g.event("gate", "first", "second"))
	g.await(t, "first")
	g.open("first")
	g.await(t, "second")
	if in := h.only(); processState(in.cmd.Process.Pid) == "T" {
		t.Error("the instance is stopped while it has an invocation")
	}
	g.open("second")
	<-done
}

func TestInstancesServeOneInvocationEach(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	h.deploy("careless", Function{})
	var done []chan map[string]any
	for _, gate := range []string{"a", "b", "c"} {
		done = append(done, h.background("careless", g.event("gate", gate)))
		g.await(t, gate)
	}
	pids := map[any]bool{}
	for i, gate := range []string{"a", "b", "c"} {
		g.open(gate)
		pids[(<-done[i])["pid"]] = true
	}
	if len(pids) != 3 {
		t.Errorf("three invocations at once ran in %d processes", len(pids))
	}
	if pid := h.pid("careless"); !pids[float64(pid)] {
		t.Error("a fourth instance was started though three were idle")
	}
}

func TestTheInstanceUsedLastIsUsedFirst(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	h.deploy("careless", Function{})
	first := h.background("careless", g.event("gate", "first"))
	g.await(t, "first")
	second := h.background("careless", g.event("gate", "second"))
	g.await(t, "second")
	g.open("second")
	<-second
	eventually(t, "an instance is idle", func() bool { return h.idle("careless") == 1 })
	g.open("first")
	last := int((<-first)["pid"].(float64))
	eventually(t, "both instances are idle", func() bool { return h.idle("careless") == 2 })
	for range 3 {
		if pid := h.pid("careless"); pid != last {
			t.Errorf("process %d was used, not %d, which was used last", pid, last)
		}
		eventually(t, "both instances are idle", func() bool { return h.idle("careless") == 2 })
	}
}

func TestEndsOfProcesses(t *testing.T) {
	t.Parallel()
	g := newGates(t)
	killed := failure{"Runtime.ExitError", "Error: Runtime exited with error: signal: killed"}
	cases := map[string]struct {
		event string
		want  failure
	}{
		"exit": {`{"do":"exit","code":2}`,
			failure{"Runtime.ExitError", "Error: Runtime exited with error: exit status 2"}},
		"exit without a fault": {`{"do":"exit"}`,
			failure{"Runtime.ExitError", "Error: Runtime exited without providing a reason"}},
		"signal": {`{"do":"kill"}`, killed},
		"panic":  {`{"do":"panic"}`, failure{"string", "the handler panicked"}},
		// The gate stays shut: the process would wait there with its memory.
		"out of memory": {`{"do":"allocate","size":400000000,"gates":["` + g.url + `/shut"]}`, killed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, Options{})
			h.deploy("careless", Function{MemoryMB: 128})
			pid := h.pid("careless")
			if diff := cmp.Diff(c.want, h.failure("careless", c.event)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			logged := slices.Contains(h.lines("careless"), "RequestId: ID "+c.want.Message)
			if own := c.want.Type != "Runtime.ExitError"; logged == own { // the runtime logs what it reports
				t.Errorf("the log says %q", h.lines("careless"))
			}
			eventually(t, "the process has ended", func() bool { return !alive(pid) })
			if again := h.pid("careless"); again == pid {
				t.Error("the process that failed was used again")
			}
		})
	}
}

func TestATimeoutKills(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	h.deploy("careless", Function{Timeout: time.Second})
	pid := h.pid("careless")
	want := failure{"Sandbox.Timedout", "Error: Task timed out after 1.00 seconds"}
	if diff := cmp.Diff(want, h.failure("careless", g.event("hang", "never"))); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	eventually(t, "the process has ended", func() bool { return !alive(pid) })
	if diff := cmp.Diff(float64(1), h.result("careless", `{"do":"count"}`)["invocations"]); diff != "" {
		t.Errorf("invocations in the fresh process (-want +got):\n%s", diff)
	}
}

func TestAHandlersErrorLeavesTheInstance(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	pid := h.pid("careless")
	want := failure{"errorString", "the handler failed"}
	if diff := cmp.Diff(want, h.failure("careless", `{"do":"error"}`)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if again := h.pid("careless"); again != pid {
		t.Error("an error that the handler returned cost the instance")
	}
}

func TestInitFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		program string
		env     map[string]string
		options Options
		want    failure
	}{
		"exit": {
			program: "careless", env: map[string]string{"INIT": "exit"},
			want: failure{"Runtime.ExitError", "Error: Runtime exited with error: exit status 4"},
		},
		"time": {
			program: "careless", env: map[string]string{"INIT": "hang"},
			options: Options{InitTimeout: 100 * time.Millisecond},
			want:    failure{"Sandbox.Timedout", "Error: Task timed out after 0.50 seconds"},
		},
		"report": {
			program: "raw", env: map[string]string{"INIT": "error"},
			want: failure{"Extension.Bad", "no configuration"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, c.options)
			timeout := time.Minute
			if c.options.InitTimeout > 0 {
				timeout = 500 * time.Millisecond
			}
			h.deploy(c.program, Function{Env: c.env, Timeout: timeout, Concurrency: 1})
			for range 2 {
				if diff := cmp.Diff(c.want, h.failure(c.program, `{}`)); diff != "" {
					t.Errorf("failure (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAFailedInitIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"exit", "hang"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, Options{InitTimeout: 300 * time.Millisecond})
			env := map[string]string{"INIT": how, "INIT_MARK": filepath.Join(t.TempDir(), "mark")}
			h.deploy("careless", Function{Env: env})
			if n := h.result("careless", `{"do":"count"}`)["invocations"]; n != float64(1) {
				t.Errorf("invocations: %v", n)
			}
		})
	}
}

// Each is in order when it is deployed. The caller and the log are told the same.
func TestProgramsThatCannotStart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		program string // DIR stands for the function's folder
		command []string
		spoil   string // what is removed after the deployment
		want    string
	}{
		"no program": {program: "no program", want: "fork/exec DIR/bootstrap: exec format error; allowed: a program for " +
			runtime.GOOS + "/" + runtime.GOARCH + ", or a script whose first line is #!INTERPRETER"},
		"interpreter": {program: "#!DIR/interpreter -u\n", spoil: "interpreter", want: "program DIR/bootstrap: the " +
			`interpreter "DIR/interpreter" of its first line: stat DIR/interpreter: no such file or directory`},
		"program": {program: "#!/bin/sh\n", spoil: "bootstrap",
			want: "starting the program: stat DIR/bootstrap: no such file or directory"},
		"folder": {command: []string{"/bin/sh"}, spoil: ".", want: "fork/exec /bin/sh: no such file or directory; /bin/sh " +
			"is there, so what is missing is its working directory or the loader that it was linked for"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := newHarness(t, Options{}), t.TempDir()
			for file, content := range map[string]string{"bootstrap": c.program, "interpreter": ""} {
				content = strings.ReplaceAll(content, "DIR", dir)
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := h.Deploy(Function{Name: "bad", Dir: dir, Command: c.command}); err != nil {
				t.Fatal(err)
			}
			if c.spoil != "" {
				if err := os.RemoveAll(filepath.Join(dir, c.spoil)); err != nil {
					t.Fatal(err)
				}
			}
			want := "Error: " + strings.ReplaceAll(c.want, "DIR", dir)
			if diff := cmp.Diff(failure{"Runtime.InvalidEntrypoint", want}, h.failure("bad", `{}`)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if lines := h.lines("bad"); !slices.Contains(lines, "RequestId: ID "+want) {
				t.Errorf("the log says %q", lines)
			}
		})
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	h.result("careless", `{"do":"count"}`)
	h.invoke("careless", `{"do":"log"}`)
	h.failure("careless", `{"do":"exit","code":2}`)
	want := []string{
		"to stdout", "", "[ERROR] a", "  at b", "", "  at c", "", "unendedlast words",
		"RequestId: ID Error: Runtime exited with error: exit status 2",
	}
	if diff := cmp.Diff(want, h.lines("careless")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	h.deploy("careless", Function{})
	family := h.result("careless", `{"do":"child"}`)
	frozen, child := int(family["pid"].(float64)), int(family["child"].(float64))
	eventually(t, "the instance is idle", func() bool { return h.idle("careless") == 1 })
	running := h.background("careless", g.event("gate", "never"))
	other := h.background("careless", g.event("gate", "neither"))
	g.await(t, "never")
	g.await(t, "neither")

	h.Close()
	for _, pid := range []int{frozen, child} {
		// The child was given to init, which may take a moment to take notice.
		eventually(t, "the process has ended", func() bool { return !alive(pid) })
	}
	if n := len(h.instances); n > 0 {
		t.Errorf("%d instances are left", n)
	}
	for _, done := range []chan map[string]any{running, other} {
		if result := <-done; result["errorType"] != "Runtime.ExitError" {
			t.Errorf("an invocation in flight ended with %v", result)
		}
	}
	if _, err := h.Invoke(t.Context(), "careless", nil); err == nil {
		t.Error("a closed service took an invocation")
	}
}

func TestCloseDuringInit(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{InitTimeout: time.Hour})
	mark := filepath.Join(t.TempDir(), "mark")
	h.deploy("careless", Function{Env: map[string]string{"INIT": "hang", "INIT_MARK": mark}})
	done := h.background("careless", `{"do":"count"}`)
	eventually(t, "the init hangs", func() bool { _, err := os.Stat(mark); return err == nil })
	h.Close()
	if result := <-done; result["errorType"] != "Runtime.ExitError" {
		t.Errorf("the invocation ended with %v", result)
	}
	if n := len(h.instances); n > 0 {
		t.Errorf("%d instances are left", n)
	}
}

// beParent is a process that dies with a service open: see TestInstancesDieWithTheirParent.
func beParent(dir string) {
	s := New(Options{})
	if _, err := s.Deploy(Function{Name: "orphan", Dir: dir, MemoryMB: 1024}); err != nil {
		panic(err)
	}
	response, err := s.Invoke(context.Background(), "orphan", []byte(`{"do":"count"}`))
	if err != nil {
		panic(err)
	}
	line, err := bufio.NewReader(response.Body).ReadString('}')
	if err != nil {
		panic(err)
	}
	fmt.Println(line)
	select {}
}

func TestInstancesDieWithTheirParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process that its parent has died")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "LOCALLAMBDA_TEST_PARENT="+filepath.Join(bootstraps, "careless"))
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var answer struct{ PID int }
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	decode(t, line, &answer)
	if !alive(answer.PID) {
		t.Fatalf("there is no process %d", answer.PID)
	}
	parent.Process.Signal(syscall.SIGKILL)
	parent.Wait()
	eventually(t, "process "+strconv.Itoa(answer.PID)+" has ended", func() bool { return !alive(answer.PID) })
}

func needProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the state of a process is read from /proc")
	}
}
