// Package child runs programs that do not outlive this one.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stopWait is how long a server may take from SIGTERM to its end before it is killed.
const stopWait = 5 * time.Second

// ServerOptions say how a server is started. All but Log are required.
type ServerOptions struct {
	// Within bounds the start.
	Within time.Duration
	// Answers asks the server something, to know that it answers.
	Answers func(ctx context.Context, url string) error
	// Log gets what the server prints. Nil drops it.
	Log io.Writer
}

// Server is a running program that serves. It prints {"url":"http://…"} as its first line once it listens, and ends on
// SIGTERM, and when its standard input ends, which is when its parent has gone, however it went. Close must be called.
type Server struct {
	// URL is what the server said that it listens at.
	URL string

	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	once  sync.Once
}

// StartServer runs a command and returns when it answers; ctx bounds only the start. The error of a server that did not
// start holds what it said last.
func StartServer(ctx context.Context, cmd *exec.Cmd, options ServerOptions) (*Server, error) {
	output := &tail{next: options.Log}
	server, urls, err := launch(cmd, output)
	if err != nil {
		return nil, err
	}
	if err := server.await(ctx, urls, options); err != nil {
		server.Close()
		return nil, fmt.Errorf("%w%s", err, output)
	}
	return server, nil
}

// launch starts the child. Its URL arrives on the channel.
func launch(cmd *exec.Cmd, output io.Writer) (*Server, <-chan string, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("running %s: %w", cmd.Path, err)
	}
	server := &Server{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	urls := make(chan string, 1)
	go func() {
		defer close(server.done)
		readURL(stdout, urls, output)
		cmd.Wait() // The error only says how the process ended, which Close brings about itself.
	}()
	return server, urls, nil
}

// readURL sends the URL of the child's first line and copies what follows to the log.
func readURL(stdout io.Reader, urls chan<- string, log io.Writer) {
	reader := bufio.NewReader(stdout)
	line, _ := reader.ReadBytes('\n')
	var ready struct{ URL string }
	if json.Unmarshal(line, &ready) == nil && ready.URL != "" {
		urls <- ready.URL
	}
	io.Copy(log, reader)
}

// await sets URL and waits until a request is answered: a server may listen before it can serve.
func (s *Server) await(ctx context.Context, urls <-chan string, options ServerOptions) error {
	ctx, cancel := context.WithTimeout(ctx, options.Within)
	defer cancel()
	select {
	case s.URL = <-urls:
	case <-s.done:
		return errors.New("it ended at once")
	case <-ctx.Done():
		return fmt.Errorf("waiting until it listens: %w", ctx.Err())
	}
	return options.Answers(ctx, s.URL)
}

// Done is closed when the server has ended, by Close or by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close ends the server and returns when its process is gone. It may be called more than once.
func (s *Server) Close() {
	s.once.Do(func() {
		// Signalling a process that has ended does nothing, and closing the pipe asks for the same end.
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.stdin.Close()
		select {
		case <-s.done:
		case <-time.After(stopWait):
			s.cmd.Process.Kill()
		}
	})
	<-s.done
}
