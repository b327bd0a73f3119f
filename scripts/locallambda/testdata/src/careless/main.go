// Command careless is a Lambda function that does what its event tells it to, mistakes above all.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do string `json:"do"`
	// Gates are URLs: a GET of one returns when the test opens it.
	Gates []string `json:"gates"`
	Size  int      `json:"size"`
	Code  int      `json:"code"`
}

type process struct{ invocations int }

func main() {
	if err := initialize(os.Getenv("INIT"), os.Getenv("INIT_MARK")); err != nil {
		fmt.Println(err)
		os.Exit(4)
	}
	lambda.Start((&process{}).handle)
}

// initialize fails, or waits, in the way that is asked for: always, or, with a mark, in the first process alone.
func initialize(how, mark string) error {
	if mark != "" {
		file, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil
		}
		file.Close()
	}
	switch how {
	case "exit":
		return errors.New("init fails")
	case "hang":
		hang()
	case "gate":
		return pass([]string{os.Getenv("INIT_GATE")})
	}
	return nil
}

// hang waits in a way that the Go runtime does not take for a deadlock.
func hang() { time.Sleep(time.Hour) }

func (p *process) handle(ctx context.Context, e event) (any, error) {
	p.invocations++
	switch e.Do {
	case "count":
		return map[string]int{"pid": os.Getpid(), "invocations": p.invocations}, nil
	case "describe":
		return describe(ctx)
	case "gate":
		return map[string]int{"pid": os.Getpid()}, pass(e.Gates)
	case "error":
		return nil, errors.New("the handler failed")
	case "panic":
		panic("the handler panicked")
	case "exit":
		fmt.Println("last words")
		os.Exit(e.Code)
	case "kill":
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
		go func() { http.Get(e.Gates[0]) }()
		hang()
	case "allocate":
		return len(bytes.Repeat([]byte("x"), e.Size)), pass(e.Gates)
	case "big":
		return &filler{left: e.Size}, nil
	case "stream", "stream-fail", "stream-exit":
		return stream(e), nil
	case "child":
		return child()
	case "log":
		fmt.Print("to stdout\r\n\n[ERROR] a\r  at b\r\r  at c\n\r\nunended")
		return nil, nil
	}
	return nil, fmt.Errorf("nothing to do for %q", e.Do)
}

func describe(ctx context.Context) (any, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	return map[string]any{
		"environment": os.Environ(), "dir": dir, "arn": lc.InvokedFunctionArn, "requestId": lc.AwsRequestID,
		"client": lc.ClientContext.Custom, "deadline": deadline.UnixMilli(), "trace": ctx.Value("x-amzn-trace-id"),
	}, nil
}

func pass(gates []string) error {
	for _, gate := range gates {
		response, err := http.Get(gate)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New("the gate is shut")
		}
	}
	return nil
}

// stream writes a line before each gate, and ends as it is told.
func stream(e event) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		for i, gate := range e.Gates {
			fmt.Fprintf(writer, "line %d\n", i)
			if err := pass([]string{gate}); err != nil {
				writer.CloseWithError(err)
			}
		}
		switch {
		case strings.HasSuffix(e.Do, "fail"):
			writer.CloseWithError(errors.New("the stream failed"))
		case strings.HasSuffix(e.Do, "exit"):
			os.Exit(3)
		}
		writer.Close()
	}()
	return reader
}

// child leaves a process behind.
func child() (any, error) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return map[string]int{"pid": os.Getpid(), "child": cmd.Process.Pid}, nil
}

// filler gives that many bytes. It has no exported fields: aws-lambda-go sends a reader as JSON if that is not "{}".
type filler struct{ left int }

func (f *filler) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), f.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	f.left -= n
	return n, nil
}
