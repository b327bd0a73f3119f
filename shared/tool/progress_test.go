package tool_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
	"patchbay/shared/tool"
)

func streaming(r *invoke.Request) { r.Meta.Progress = true }

// lines reads the answer line by line.
func lines(t *testing.T, answer io.Reader) (got []invoke.Line) {
	t.Helper()
	scanner := bufio.NewScanner(answer)
	for scanner.Scan() {
		var line invoke.Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", scanner.Bytes(), err)
		}
		got = append(got, line)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

func report(progress, total float64, message string) invoke.Line {
	return invoke.Line{Progress: &invoke.Progress{Progress: progress, Total: total, Message: message}}
}

func TestProgressArrivesWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	answer, err := quiet(func(ctx context.Context, in input) (string, error) {
		tool.Progress(ctx, 0, 2, "begun")
		<-release
		tool.Progress(ctx, 1, math.Inf(1), "half")
		return "done", nil
	}).Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	if answer.ContentType() != "application/x-ndjson" {
		t.Errorf("content type = %s", answer.ContentType())
	}
	reader := bufio.NewReader(answer)
	first, err := reader.ReadString('\n') // the handler cannot have returned: it waits for us
	if err != nil || first != `{"progress":{"progress":0,"total":2,"message":"begun"}}`+"\n" {
		t.Fatalf("first line = %s, %v", first, err)
	}
	close(release)
	want := []invoke.Line{
		report(1, 0, "half"),
		{Result: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)},
	}
	if diff := cmp.Diff(want, lines(t, reader)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestProgressIsSilentWhereNobodyAsked(t *testing.T) {
	t.Parallel()
	got := answer(t, event(t, nil), func(ctx context.Context, in input) (string, error) {
		tool.Progress(ctx, 1, 2, "unheard")
		return "done", nil
	})
	if want := `{"content":[{"type":"text","text":"done"}]}`; got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
}

func TestProgressThatDoesNotIncreaseIsDropped(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := tool.NewHandler(func(ctx context.Context, in input) (string, error) {
		for _, progress := range []float64{-1, 3, 3, 2, math.NaN(), math.Inf(1), 4} {
			tool.Progress(ctx, progress, 0, "")
		}
		return "", nil
	})
	handler.Log = slog.New(slog.NewJSONHandler(&log, nil))
	answer, err := handler.Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	got := lines(t, answer)
	want := []invoke.Line{report(-1, 0, ""), report(3, 0, ""), report(4, 0, "")}
	if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if n := strings.Count(log.String(), "does not increase"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log.String())
	}
}

// A flood is thinned out, but the newest report comes when the next window begins, though nothing follows it for long.
func TestProgressFloodIsThinnedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer, err := quiet(func(ctx context.Context, in input) (string, error) {
			for i := range 1000 {
				tool.Progress(ctx, float64(i), 1000, "")
			}
			time.Sleep(time.Minute)
			return "done", nil
		}).Invoke(t.Context(), event(t, streaming))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		reader := bufio.NewReader(answer)
		for i := range 20 {
			if line, _ := reader.ReadString('\n'); !strings.Contains(line, `"total":1000`) || time.Since(start) != 0 {
				t.Fatalf("line %d = %s after %v", i, line, time.Since(start))
			}
		}
		line, _ := reader.ReadString('\n')
		if !strings.Contains(line, `"progress":999`) || time.Since(start) != time.Second {
			t.Errorf("last report = %s after %v, want 999 after 1s", line, time.Since(start))
		}
		if rest := lines(t, reader); len(rest) != 1 || rest[0].Result == nil {
			t.Errorf("rest = %v, want one result", rest)
		}
	})
}

func TestLastReportOfAFloodComesBeforeTheResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer, err := quiet(func(ctx context.Context, in input) (string, error) {
			for i := range 100 {
				tool.Progress(ctx, float64(i), 100, "")
			}
			return "done", nil
		}).Invoke(t.Context(), event(t, streaming))
		if err != nil {
			t.Fatal(err)
		}
		got := lines(t, answer)
		if len(got) != 22 || got[20].Progress.Progress != 99 || got[21].Result == nil {
			t.Errorf("got %d lines, the last two %v", len(got), got[len(got)-2:])
		}
	})
}

func TestProgressFromManyGoroutinesAndAfterTheEnd(t *testing.T) {
	t.Parallel()
	var late context.Context
	answer, err := quiet(func(ctx context.Context, in input) (string, error) {
		late = ctx
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() { tool.Progress(ctx, float64(i), 0, "") })
		}
		group.Wait()
		return "done", nil
	}).Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	got := lines(t, answer)
	for i, line := range got {
		if last := i == len(got)-1; last != (line.Result != nil) {
			t.Errorf("line %d of %d = %+v", i, len(got), line)
		}
	}
	tool.Progress(late, 1e9, 0, "too late") // must neither block nor panic
}

func TestErrorAfterTheFirstByte(t *testing.T) {
	t.Parallel()
	answer, err := quiet(func(ctx context.Context, in input) (string, error) {
		tool.Progress(ctx, 1, 0, "")
		return "", errors.New("disk full")
	}).Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer)
	if err == nil || err.Error() != "disk full" {
		t.Errorf("error = %v, want disk full", err)
	}
	if want := `{"progress":{"progress":1}}` + "\n"; string(body) != want {
		t.Errorf("body = %s, want %s", body, want)
	}
	if err := answer.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestPanicInAStreamIsReportedThenEndsTheProcess(t *testing.T) {
	t.Parallel()
	answer, err := quiet(func(ctx context.Context, in input) (string, error) { panic("boom") }).
		Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer); err == nil || err.Error() != "panic: boom" {
		t.Errorf("error = %v, want panic: boom", err)
	}
	defer func() {
		if value := recover(); value != "boom" {
			t.Errorf("recovered %v, want boom", value)
		}
	}()
	_ = answer.Close()
}

func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	answer, err := quiet(func(ctx context.Context, in input) (string, error) {
		runtime.Goexit()
		return "", nil
	}).Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer); err == nil || !strings.Contains(err.Error(), "without an answer") {
		t.Errorf("error = %v", err)
	}
}

func TestReaderThatLeavesDoesNotBlockTheHandler(t *testing.T) {
	t.Parallel()
	done := make(chan error)
	answer, err := quiet(func(ctx context.Context, in input) (string, error) {
		<-ctx.Done()
		tool.Progress(ctx, 1, 0, "")
		done <- ctx.Err()
		return "", nil
	}).Invoke(t.Context(), event(t, streaming))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("context ended with %v", err)
	}
}
