package tutorial

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"patchbay/tests/workcopy"
)

// readyWithin bounds the wait for a program in a second terminal, so that one that hangs is told with what it printed.
const readyWithin = 5 * time.Minute

// clone is what a reader has after `git clone`: what is under version control, as it is now.
type clone struct {
	dir string
	// port is free, for the one that tutorials show: 8787, which the reader of this test may be using.
	port string
	kept *terminal
}

const shownPort = "8787"

func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{dir: filepath.Join(t.TempDir(), "patchbay"), port: freePort(t)}
	if err := workcopy.Make(t.Context(), filepath.Join("..", ".."), c.dir); err != nil {
		t.Fatal(err)
	}
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// follow does what a document says, step by step.
func (c *clone) follow(t *testing.T, path string) {
	t.Helper()
	steps, err := readDocument(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stop(t) })
	for _, s := range steps {
		if err := c.do(t, s); err != nil {
			t.Fatalf("%s:%d: %v", path, s.line, err)
		}
	}
}

func (c *clone) do(t *testing.T, s step) error {
	switch s.kind {
	case writeFile:
		return c.write(s.path, s.text)
	case keepRunning:
		c.stop(t)
		return c.keep(s.text)
	case interrupt:
		c.stop(t)
		return nil
	}
	err := c.run(t.Context(), s)
	for deadline := time.Now().Add(readyWithin); s.again && err != nil && time.Now().Before(deadline); {
		time.Sleep(time.Second)
		err = c.run(t.Context(), s)
	}
	return err
}

func (c *clone) write(path, text string) error {
	target := filepath.Join(c.dir, path)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(text), 0o644)
}

func (c *clone) run(ctx context.Context, s step) error {
	output, err := c.command(ctx, s.text).CombinedOutput()
	if failed := err != nil; failed != s.fails {
		return fmt.Errorf("%s\nended with %v\n%s\n%s", s.text, err, output, c.kept)
	}
	shown := strings.ReplaceAll(string(output), c.port, shownPort)
	if s.output != nil && !matches(*s.output, shown) {
		return fmt.Errorf("%s\nprinted\n%s\nand not\n%s\n%s", s.text, shown, *s.output, c.kept)
	}
	return nil
}

// command is a command of the text in the reader's terminal.
func (c *clone) command(ctx context.Context, text string) *exec.Cmd {
	text = strings.ReplaceAll(text, shownPort, c.port)
	// The port that the tutorial shows is the default one, so its commands do not name it.
	text = strings.ReplaceAll(text, "patchbay local", "patchbay local --addr 127.0.0.1:"+c.port)
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	command.Dir = c.dir
	return command
}

// terminal is a second one, with a program that runs in it.
type terminal struct {
	*exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
	// ready is closed when the program says that it is, done when it has ended.
	ready, done chan struct{}
}

// keep starts a program and waits until it says that it is ready.
func (c *clone) keep(text string) error {
	// Not bound to the test's context, so that what the program started has the time to end with it.
	c.kept = &terminal{
		Cmd: c.command(context.Background(), text), ready: make(chan struct{}), done: make(chan struct{}),
	}
	// A group of its own, as a terminal makes one for what it starts.
	c.kept.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.kept.Stdout, c.kept.Stderr = c.kept, c.kept
	if err := c.kept.Start(); err != nil {
		return err
	}
	go func() {
		_ = c.kept.Wait()
		close(c.kept.done)
	}()
	select {
	case <-c.kept.ready:
		return nil
	case <-c.kept.done:
		return fmt.Errorf("%s\nended before it was ready\n%s", text, c.kept)
	case <-time.After(readyWithin):
		return fmt.Errorf("%s\nis not ready after %s\n%s", text, readyWithin, c.kept)
	}
}

// Write keeps what the program prints.
func (t *terminal) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wasReady := bytes.Contains(t.text.Bytes(), []byte("ready: "))
	n, err := t.text.Write(data)
	if !wasReady && bytes.Contains(t.text.Bytes(), []byte("ready: ")) {
		close(t.ready)
	}
	return n, err
}

// String is what the program has printed.
func (t *terminal) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return "in the other terminal:\n" + t.text.String()
}

// stop is the reader's Ctrl-C in the second terminal, if anything runs there.
func (c *clone) stop(t *testing.T) {
	if c.kept == nil {
		return
	}
	_ = syscall.Kill(-c.kept.Process.Pid, syscall.SIGINT)
	select {
	case <-c.kept.done:
	case <-time.After(readyWithin):
		t.Errorf("does not end by an interrupt: %s", c.kept)
		_ = syscall.Kill(-c.kept.Process.Pid, syscall.SIGKILL)
	}
	c.kept = nil
}
