package tool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
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
	if os.Getenv(serveVariable) != "" {
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
		panic("boom")
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
	posts chan posted
}

func start(t *testing.T, event json.RawMessage) *program {
	t.Helper()
	p := &program{posts: make(chan posted)}
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
