package locallambda

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkHop is the anchor of the other benchmarks: one bare HTTP request to this process.
func BenchmarkHop(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer server.Close()
	for b.Loop() {
		post(b, server.URL, `{"do":"count"}`)
	}
}

// BenchmarkInvoke is a warm synchronous invocation over HTTP: the hop, and two messages to the function's process.
func BenchmarkInvoke(b *testing.B) {
	h := newHarness(b, Options{})
	h.deploy("careless", Function{})
	for b.Loop() {
		post(b, h.url+"/2015-03-31/functions/careless/invocations", `{"do":"count"}`)
	}
}

// BenchmarkFloor is the same exchange with the same function through the least that can carry it: no limits, no
// freezing, no deadline, one instance. What BenchmarkInvoke costs above it is the service's own.
func BenchmarkFloor(b *testing.B) {
	events, answers := make(chan []byte), make(chan []byte)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /invoke", func(w http.ResponseWriter, r *http.Request) {
		event, _ := io.ReadAll(r.Body)
		events <- event
		w.Write(<-answers)
	})
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", "9999999999999")
			w.Write(event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/1/response", func(w http.ResponseWriter, r *http.Request) {
		answer, _ := io.ReadAll(r.Body)
		answers <- answer
		w.WriteHeader(http.StatusAccepted)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	function := exec.Command(filepath.Join(bootstraps, "careless", "bootstrap"))
	function.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + server.Listener.Addr().String()}
	if err := function.Start(); err != nil {
		b.Fatal(err)
	}
	defer function.Wait()
	defer function.Process.Kill()
	for b.Loop() {
		post(b, server.URL+"/invoke", `{"do":"count"}`)
	}
}

// BenchmarkInvokeParallel has as many callers as GOMAXPROCS, each with its own instance.
func BenchmarkInvokeParallel(b *testing.B) {
	h := newHarness(b, Options{})
	h.deploy("careless", Function{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			post(b, h.url+"/2015-03-31/functions/careless/invocations", `{"do":"count"}`)
		}
	})
}

// BenchmarkFirstByte is a warm streaming invocation up to the first byte of its answer. The rest of the answer is in
// the measured time too, since the next invocation needs the instance.
func BenchmarkFirstByte(b *testing.B) {
	h := newHarness(b, Options{})
	h.deploy("careless", Function{})
	for b.Loop() {
		response, err := h.Invoke(b.Context(), "careless", []byte(`{"do":"count"}`))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := response.Body.Read(make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
	}
}

// BenchmarkColdStart is an invocation that starts its instance.
func BenchmarkColdStart(b *testing.B) {
	h := newHarness(b, Options{})
	for b.Loop() {
		arn := h.deploy("careless", Function{})
		post(b, h.url+"/2015-03-31/functions/"+arn+"/invocations", `{"do":"count"}`)
		b.StopTimer()
		if err := h.Remove("careless", arn[strings.LastIndex(arn, ":")+1:]); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func post(b *testing.B, url, payload string) {
	response, err := http.Post(url, "application/json", strings.NewReader(payload))
	if err != nil {
		b.Fatal(err)
	}
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		b.Fatal(response.Status)
	}
}
