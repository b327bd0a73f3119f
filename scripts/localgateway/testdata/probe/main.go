// Command probe is the Lambda behind the gateway in its tests. What it does is the name in the Probe header; the
// request's body is what it needs for that, or the query's "body" where there must be none.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/dispatcher/gateway"
)

type rawEvent struct{}

func main() {
	handler := gateway.New(http.HandlerFunc(serve), gateway.Options{})
	lambda.Start(func(ctx context.Context, event json.RawMessage) (io.Reader, error) {
		if answer, err := withoutAdapter(event); answer != nil || err != nil {
			return answer, err
		}
		return handler(context.WithValue(ctx, rawEvent{}, event), event)
	})
}

// withoutAdapter gives the answers that the adapter never gives.
func withoutAdapter(event json.RawMessage) (io.Reader, error) {
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	switch e.Headers["Probe"] {
	case "fail":
		return nil, errors.New("a secret cause")
	case "exit":
		os.Exit(3)
	case "no prelude":
		return strings.NewReader("only a text"), nil
	case "bad prelude":
		return strings.NewReader(`{"statusCode":200,"body":"x"}` + strings.Repeat("\x00", 8)), nil
	case "long prelude":
		return &events.APIGatewayProxyStreamingResponse{
			StatusCode: 200, Headers: map[string]string{"X-Long": strings.Repeat("x", 16<<10)}, Body: strings.NewReader("x"),
		}, nil
	}
	return nil, nil
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	if len(body) == 0 {
		body = []byte(r.URL.Query().Get("body"))
	}
	switch r.Header.Get("Probe") {
	case "event":
		_, _ = w.Write(r.Context().Value(rawEvent{}).(json.RawMessage))
	case "answer":
		answer(w, body)
	case "two chunks":
		send(w, "one")
		await(string(body), "go on")
		send(w, "two")
	case "outlive":
		send(w, "one")
		outlive(r.Context(), w, string(body))
	case "outlive in silence":
		outlive(r.Context(), w, string(body))
	case "panic in the stream":
		send(w, "one")
		await(string(body), "go on")
		panic("a secret cause")
	case "exit in the stream":
		send(w, "one")
		await(string(body), "go on")
		os.Exit(3)
	}
}

// answer writes what the body asks for.
func answer(w http.ResponseWriter, body []byte) {
	var wanted struct {
		Status int
		Header http.Header
		Body   string
	}
	if err := json.Unmarshal(body, &wanted); err != nil {
		panic(err)
	}
	for name, values := range wanted.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(wanted.Status)
	_, _ = io.WriteString(w, wanted.Body)
}

func send(w http.ResponseWriter, chunk string) {
	_, _ = io.WriteString(w, chunk)
	w.(http.Flusher).Flush()
}

// outlive waits until its client is gone, works on, and leaves word of how it went.
func outlive(ctx context.Context, w http.ResponseWriter, dir string) {
	leave(dir, "started", "")
	await(dir, "go on")
	for range 10 {
		_, _ = io.WriteString(w, "nobody reads this")
	}
	leave(dir, "finished", fmt.Sprintf("context: %v", ctx.Err()))
}

// leave makes a file that is whole from the moment it is there.
func leave(dir, name, text string) {
	part := filepath.Join(dir, "part")
	if err := errors.Join(os.WriteFile(part, []byte(text), 0o600), os.Rename(part, filepath.Join(dir, name))); err != nil {
		panic(err)
	}
}

func await(dir, name string) {
	for {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
