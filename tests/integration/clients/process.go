package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// process is a program that is run to its end.
type process struct {
	env   []string
	input []byte
	// visit is the person whom the program sends to an authorization server; nil for nobody. asks finds the URL in a line
	// of the program's output; empty for a line that asks for nothing.
	visit Visit
	asks  func(line []byte) string
}

// run returns what the program printed on its standard output; the error carries what it printed on the other.
func (p process) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), p.env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.input), &stdout, &stderr
	if p.visit != nil {
		visits := &visits{ctx: ctx, cancel: cancel, process: p}
		defer visits.Wait()
		cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, visits.in()), io.MultiWriter(&stderr, visits.in())
	}
	// A grandchild that holds the pipes must not keep a cancelled run waiting.
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return stdout.Bytes(), fmt.Errorf("running %s: %w: %s", filepath.Base(args[0]), err, lastLines(stderr.String()))
}

func lastLines(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// visits send the person off, each time that the program asks for it.
type visits struct {
	sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
	process
}

// in reads one of the program's outputs.
func (v *visits) in() io.Writer { return &lines{each: v.line} }

func (v *visits) line(line []byte) {
	url := v.asks(line)
	if url == "" {
		return
	}
	v.Go(func() {
		if err := v.visit(v.ctx, url); err != nil {
			v.cancel(fmt.Errorf("signing in: %w", err))
		}
	})
}

// lines hands on whole lines.
type lines struct {
	each    func(line []byte)
	pending []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.pending = append(l.pending, p...)
	for {
		line, rest, found := bytes.Cut(l.pending, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.pending = rest
		l.each(line)
	}
}

// visitLine is how the programs of this package ask for a person.
func visitLine(line []byte) string {
	var asked struct{ Visit string }
	if !bytes.HasPrefix(line, []byte(`{"visit"`)) || json.Unmarshal(line, &asked) != nil {
		return ""
	}
	return asked.Visit
}

// lastLine is what a program printed last: its report.
func lastLine(output []byte) []byte {
	output = bytes.TrimSpace(output)
	return output[bytes.LastIndexByte(output, '\n')+1:]
}
