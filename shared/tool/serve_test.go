package tool_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"patchbay/shared/invoke"
	"patchbay/shared/tool"
)

// serveVariable makes the test binary a tool's program, which it runs against a Runtime API of its own.
const serveVariable = "TOOL_TEST_SERVE"

func TestMain(m *testing.M) {
	switch os.Getenv(serveVariable) {
	case "":
	case "stop":
		tool.Stop(errors.New("environment variable GREETING is not set"))
	default:
		tool.Serve(serve)
	}
	os.Exit(m.Run())
}

func serve(ctx context.Context, in input) (output, error) {
	switch in.Name {
	case "wait":
		tool.Progress(ctx, 1, 2, "waiting")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return output{"waited"}, err
	case "defect":
		tool.Progress(ctx, 1, 2, "failing")
		return output{}, errors.New("disk full")
	case "panic":
		panic("boom\nand gone")
	case "print":
		log.Print("an old library\nwrites in lines")
		tool.Log(ctx).Warn("mind the gap")
	}
	return output{"Hello, " + in.Name}, nil
}

// posted is what the program posted to the Runtime API.
type posted struct {
	path, contentType string
	body              io.Reader
	trailer           http.Header // complete once the body is read
	done              func()
}

// program is a running tool and its Runtime API. Source: AWS Lambda, "Using the Lambda runtime API".
type program struct {
	cmd   *exec.Cmd
	stdin io.Writer
	// stderr is complete when the program has ended.
	stderr *bytes.Buffer
	posts  chan posted
}

func start(t *testing.T, event json.RawMessage) *program {
	t.Helper()
	p := &program{posts: make(chan posted), stderr: new(bytes.Buffer)}
	events := make(chan json.RawMessage, 1)
	events <- event
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "i-1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10))
			_, _ = w.Write(event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/i-1/", func(w http.ResponseWriter, r *http.Request) {
		done := make(chan struct{})
		p.posts <- posted{r.URL.Path, r.Header.Get("Content-Type"), r.Body, r.Trailer, func() { close(done) }}
		<-done
		w.WriteHeader(http.StatusAccepted)
	})
	api := httptest.NewServer(mux)
	p.cmd = exec.CommandContext(t.Context(), os.Args[0])
	address := strings.TrimPrefix(api.URL, "http://")
	p.cmd.Env = append(os.Environ(), serveVariable+"=1", "AWS_LAMBDA_RUNTIME_API="+address)
	p.cmd.Stderr = p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		api.Close()
	})
	return p
}

func named(t *testing.T, name string, edit func(*invoke.Request)) json.RawMessage {
	t.Helper()
	return event(t, func(r *invoke.Request) {
		r.Arguments = json.RawMessage(`{"name":"` + name + `"}`)
		if edit != nil {
			edit(r)
		}
	})
}

func TestServe(t *testing.T) {
	t.Parallel()
	post := <-start(t, named(t, "Ada", nil)).posts
	defer post.done()
	body, err := io.ReadAll(post.body)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"content":[{"type":"text","text":"{\"greeting\":\"Hello, Ada\"}"}],` +
		`"structuredContent":{"greeting":"Hello, Ada"}}`
	if string(body) != want || post.contentType != "application/json" || !strings.HasSuffix(post.path, "/response") {
		t.Errorf("posted %s to %s as %s, want %s", body, post.path, post.contentType, want)
	}
}

// The first line arrives while the handler waits for the test, which answers only after it.
func TestServeStreams(t *testing.T) {
	t.Parallel()
	p := start(t, named(t, "wait", streaming))
	post := <-p.posts
	defer post.done()
	reader := bufio.NewReader(post.body)
	first, err := reader.ReadString('\n')
	if err != nil || first != `{"progress":{"progress":1,"total":2,"message":"waiting"}}`+"\n" {
		t.Fatalf("first line = %s, %v", first, err)
	}
	if _, err := io.WriteString(p.stdin, "go on\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(reader)
	if err != nil || !strings.Contains(string(rest), `{"result":{"content":`) {
		t.Errorf("rest = %s, %v", rest, err)
	}
	if post.contentType != "application/x-ndjson" {
		t.Errorf("content type = %s", post.contentType)
	}
	if kind := post.trailer.Get("Lambda-Runtime-Function-Error-Type"); kind != "" {
		t.Errorf("error type in the trailers = %s", kind)
	}
}

func TestServeReportsADefectInTheTrailers(t *testing.T) {
	t.Parallel()
	post := <-start(t, named(t, "defect", streaming)).posts
	defer post.done()
	body, err := io.ReadAll(post.body)
	if err != nil || strings.Count(string(body), "\n") != 1 {
		t.Errorf("body = %s, %v, want one line of progress", body, err)
	}
	if post.trailer.Get("Lambda-Runtime-Function-Error-Type") == "" {
		t.Errorf("trailers = %v, want an error type", post.trailer)
	}
}

func TestServeReportsADefect(t *testing.T) {
	t.Parallel()
	post := <-start(t, named(t, "defect", nil)).posts
	defer post.done()
	body, err := io.ReadAll(post.body)
	if err != nil || !strings.HasSuffix(post.path, "/error") || !strings.Contains(string(body), "disk full") {
		t.Errorf("posted %s to %s, %v", body, post.path, err)
	}
}

// A panic is reported, and then the process ends, whether the answer is streamed or not.
func TestServePanics(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*invoke.Request){"buffered": nil, "streamed": streaming} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, named(t, "panic", edit))
			post := <-p.posts
			body, err := io.ReadAll(post.body)
			if err != nil {
				t.Error(err)
			}
			kind := post.trailer.Get("Lambda-Runtime-Function-Error-Type")
			if !strings.Contains(string(body), "boom") && kind == "" {
				t.Errorf("posted %s with trailers %v to %s", body, post.trailer, post.path)
			}
			post.done()
			if err := p.cmd.Wait(); err == nil {
				t.Error("the process ended as if nothing had happened")
			}
		})
	}
}

// Whatever happens, what the program writes is one JSON object a line, so that a search for the request id finds all.
func TestServeLogsLinesOfJSON(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"Ada":    {`"outcome":"ok"`},
		"defect": {`"outcome":"error"`, "disk full"},
		"panic":  {`"outcome":"panic"`, `boom\nand gone`},
		"print":  {`"an old library\nwrites in lines"`, "mind the gap", `"outcome":"ok"`},
	} {
		for mode, edit := range map[string]func(*invoke.Request){"buffered": nil, "streamed": streaming} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				p := start(t, named(t, name, edit))
				post := <-p.posts
				_, _ = io.ReadAll(post.body)
				post.done()
				if name != "panic" {
					_ = p.cmd.Process.Kill()
				}
				_ = p.cmd.Wait()
				checkLog(t, p.stderr.String(), wants)
			})
		}
	}
}

func TestStopSaysWhyInOneLine(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), serveVariable+"=stop")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Run(); err == nil {
		t.Error("the program ended as if nothing had happened")
	}
	checkLog(t, stderr.String(), []string{"environment variable GREETING is not set"})
}

func checkLog(t *testing.T, log string, wants []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) || line[0] != '{' {
			t.Errorf("not a JSON object: %s", line)
		}
	}
	for _, want := range wants {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in the log: %s", want, log)
		}
	}
	if n := strings.Count(log, `"msg":"tool call"`); n > 1 {
		t.Errorf("%d lines for one call: %s", n, log)
	}
}
