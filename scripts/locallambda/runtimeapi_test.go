package locallambda

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"
)

func TestMistakesOfARuntime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("raw", Function{})
	want := map[string]any{
		"unknown id": 400.0, "error for an unknown id": 400.0, "unknown response mode": 400.0,
		"next before the answer": 403.0, "init error after init": 403.0, "no such call": 404.0,
		"page of another origin": 403.0, "page of some browsers": 403.0, "site that resolves": 403.0,
	}
	if diff := cmp.Diff(want, h.result("raw", `{"do":"mistakes"}`)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	// The answer of the next invocation shows that the instance has gone on.
	if payload, _ := h.invoke("raw", `{"do":"null"}`); payload != "null" {
		t.Errorf("answer %s", payload)
	}
	eventually(t, "the log has both answers", func() bool {
		return h.log() == "raw: answer: 202\nraw: second answer: 400"
	})
}

func TestAnErrorThatIsNotJSON(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("raw", Function{})
	want := failure{"Runtime.Unknown", "not JSON"}
	if diff := cmp.Diff(want, h.failure("raw", `{"do":"plain-error"}`)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

func TestAnAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("raw", Function{})
	want := failure{"Runtime.TruncatedResponse", "Error: The runtime broke off its response"}
	if diff := cmp.Diff(want, h.failure("raw", `{"do":"truncate"}`)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

func TestResponseSizes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	h.deploy("raw", Function{})
	tooLarge := failure{"Function.ResponseSizeTooLarge",
		"Response payload size exceeded maximum allowed payload size (6291556 bytes)."}
	for _, program := range []string{"careless", "raw"} {
		payload, functionError := h.invoke(program, sized(maxBufferedResponse))
		if functionError != "" || len(payload) != maxBufferedResponse {
			t.Errorf("%s: the largest answer came with %d bytes, %q", program, len(payload), functionError)
		}
		if diff := cmp.Diff(tooLarge, h.failure(program, sized(maxBufferedResponse+1))); diff != "" {
			t.Errorf("%s: failure (-want +got):\n%s", program, diff)
		}
	}
	eventually(t, "the runtime sees the status", func() bool { return strings.Contains(h.log(), "raw: big: 413") })
}

func TestStreamedSizes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("moves 400 MB")
	}
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	for size, want := range map[int]string{maxStreamedResponse: "", maxStreamedResponse + 1: Unhandled} {
		response, err := h.Invoke(t.Context(), "careless", []byte(sized(size)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, response.Body)
		if err != nil || n > maxStreamedResponse || want == "" && n != maxStreamedResponse {
			t.Errorf("of %d bytes came %d, %v", size, n, err)
		}
		if got := response.FunctionError(); got != want {
			t.Errorf("with %d bytes FunctionError is %q, want %q", size, got, want)
		}
	}
}

func sized(n int) string { return `{"do":"big","size":` + strconv.Itoa(n) + `}` }

func TestStreamingThroughTheSDK(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	arn := h.deploy("careless", Function{})
	cases := map[string]struct {
		do   string
		want failure
	}{
		"whole":             {do: "stream"},
		"fails":             {"stream-fail", failure{"errorString", "the stream failed"}},
		"the process exits": {"stream-exit", failure{"Runtime.ExitError", "Error: Runtime exited with error: exit status 3"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := func(i int) string { return c.do + strconv.Itoa(i) }
			stream, err := h.stream(t.Context(), arn, g.event(c.do, gate(0), gate(1), gate(2)))
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			for i := range 3 {
				// The function can't go on before its chunk is here, so the chunks come one by one.
				chunk, ok := (<-stream.Events()).(*types.InvokeWithResponseStreamResponseEventMemberPayloadChunk)
				if want := "line " + strconv.Itoa(i) + "\n"; !ok || string(chunk.Value.Payload) != want {
					t.Fatalf("event %d is %+v, want %q; %v", i, chunk, want, stream.Err())
				}
				g.await(t, gate(i))
				g.open(gate(i))
			}
			last, ok := (<-stream.Events()).(*types.InvokeWithResponseStreamResponseEventMemberInvokeComplete)
			if !ok {
				t.Fatalf("the last event is %+v, %v", last, stream.Err())
			}
			checkComplete(t, last.Value, c.want)
		})
	}
}

func checkComplete(t *testing.T, last types.InvokeWithResponseStreamCompleteEvent, want failure) {
	t.Helper()
	if want == (failure{}) {
		if last.ErrorCode != nil || last.ErrorDetails != nil {
			t.Errorf("a whole answer ended with %s: %s", aws.ToString(last.ErrorCode), aws.ToString(last.ErrorDetails))
		}
		return
	}
	if aws.ToString(last.ErrorCode) != Unhandled {
		t.Errorf("error code %q", aws.ToString(last.ErrorCode))
	}
	if diff := cmp.Diff(want, decodeFailure(t, []byte(aws.ToString(last.ErrorDetails)))); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

func TestStreamingInProcess(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	h.deploy("careless", Function{})
	response, err := h.Invoke(t.Context(), "careless", []byte(g.event("stream-fail", "a", "b")))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for i, gate := range []string{"a", "b"} {
		chunk := make([]byte, 100)
		n, err := response.Body.Read(chunk)
		if want := "line " + strconv.Itoa(i) + "\n"; err != nil || string(chunk[:n]) != want {
			t.Fatalf("chunk %q, %v, want %q", chunk[:n], err, want)
		}
		g.await(t, gate)
		g.open(gate)
	}
	if _, err := response.Body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the body ends with %v", err)
	}
	if response.FunctionError() != Unhandled || response.ExecutedVersion != "1" || response.RequestID == "" {
		t.Errorf("response %+v, error %q", response, response.FunctionError())
	}
	want := failure{"errorString", "the stream failed"}
	if diff := cmp.Diff(want, decodeFailure(t, response.ErrorPayload())); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if response.ContentType != "application/octet-stream" {
		t.Errorf("content type %q", response.ContentType)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	python := pythonRuntime(t)
	dir, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	arn, err := h.Deploy(Function{
		Name: "python", Dir: dir, MemoryMB: 512, Timeout: 10 * time.Minute,
		Command: []string{python, "-m", "awslambdaric", "app.handler"},
		Env:     map[string]string{"PYTHONDONTWRITEBYTECODE": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	first := h.result(arn, `{"n":1}`)
	second := h.result(arn, `{"n":2}`)
	if first["pid"] != second["pid"] {
		t.Error("the second call did not use the first one's process")
	}
	delete(second, "pid")
	delete(second, "requestId")
	want := map[string]any{
		"event": map[string]any{"n": 2.0}, "name": "python", "arn": arn, "memory": "512", "remaining": true,
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(failure{"ValueError", "the handler failed"}, h.failure(arn, `{"fail":true}`)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	// AWS's client ends the lines of a traceback with carriage returns.
	eventually(t, "the log has the traceback line by line", func() bool {
		lines := h.lines("python")
		return slices.Contains(lines, "Traceback (most recent call last):") && !strings.Contains(h.log(), "\r")
	})
	if _, err := h.Deploy(Function{
		Name: "nothing", Dir: dir, MemoryMB: 512, Command: []string{python, "-m", "awslambdaric", "missing.handler"},
	}); err != nil {
		t.Fatal(err)
	}
	if got := h.failure("nothing", `{}`); got.Type != "Runtime.ImportModuleError" {
		t.Errorf("a module that is missing: %+v", got)
	}
}

// pythonRuntime makes a Python environment with AWS's runtime client, and returns its interpreter. It is kept between
// runs, in the user's cache.
func pythonRuntime(t *testing.T) string {
	t.Helper()
	const client = "awslambdaric==4.2.2"
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, err.Error())
	}
	dir := filepath.Join(cache, "patchbay-test", client)
	python := filepath.Join(dir, "bin", "python")
	if exec.Command(python, "-c", "import awslambdaric, runtime_client").Run() == nil {
		return python
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", dir},
		{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", client},
	} {
		if output, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			missing(t, strings.Join(command, " ")+": "+err.Error()+"\n"+string(output))
		}
	}
	return python
}

// missing skips a test that needs what this machine does not have; where CI runs, that is a failure.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip("Python with awslambdaric is missing: " + what)
}
