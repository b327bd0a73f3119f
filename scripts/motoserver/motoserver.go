// Package motoserver runs moto, an emulator of AWS that is not of this project, as a child process for tests: what is
// deployed and published here is judged by something that nobody here wrote.
//
// What moto lacks against AWS is told where a test meets it. It checks no credentials, and by default no policies.
package motoserver

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"patchbay/scripts/pytools"
)

const (
	// Region is the region of Config.
	Region = "us-east-1"
	// Account is the account that moto says everything is in.
	Account = "123456789012"
)

const (
	startWait = time.Minute     // until the server answers; Python compiles moto at its first start
	stopWait  = 5 * time.Second // from SIGTERM to SIGKILL
	// tailBytes bounds what an error quotes of the server's output.
	tailBytes = 4096
)

//go:embed server.py
var script string

// Options say how a server runs. The zero value is useful.
type Options struct {
	// Bin is the folder of moto's programs, as pytools.Moto returns it. Empty means that of the module at or above the
	// working directory, where it must be installed.
	Bin string
	// Env are further variables of the server, each as NAME=VALUE: moto's own settings.
	Env []string
	// Log gets what the server prints, a line for every request. Nil drops it.
	Log io.Writer
}

// Server is a running server with nothing in it. Close must be called; a server whose parent dies without it ends by
// itself.
type Server struct {
	// URL is the endpoint of all services: the base endpoint of SDK clients, or AWS_ENDPOINT_URL. It carries no state
	// of another server's. Clients of S3 must use path style.
	URL string

	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	once  sync.Once
}

// Start runs a server on a free loopback port and returns when it answers; ctx bounds only the start. The error wraps
// pytools.ErrNotInstalled when moto is missing, and holds what the server said when it did not start.
func Start(ctx context.Context, options Options) (*Server, error) {
	bin, err := options.bin()
	if err != nil {
		return nil, fmt.Errorf("preparing moto: %w", err)
	}
	cmd := exec.Command(filepath.Join(bin, "python"), "-c", script)
	cmd.Env = append(environment(cmd.Environ()), options.Env...)
	// A group of its own: what the terminal sends to the parent's group does not end the server first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output := &tail{next: options.Log}
	server, urls, err := launch(cmd, output)
	if err != nil {
		return nil, fmt.Errorf("starting moto: %w", err)
	}
	if err := server.await(ctx, urls); err != nil {
		server.Close()
		return nil, fmt.Errorf("starting moto: %w%s", err, output)
	}
	return server, nil
}

func (o Options) bin() (string, error) {
	if o.Bin == "" {
		return pytools.FindMoto(".")
	}
	return o.Bin, nil
}

// environment leaves out what would make two machines' servers differ: a person's settings of AWS, moto and Python.
func environment(all []string) []string {
	var kept []string
	for _, variable := range all {
		foreign := false
		for _, prefix := range []string{"AWS_", "MOTO_", "PYTHON", "VIRTUAL_ENV"} {
			foreign = foreign || strings.HasPrefix(variable, prefix)
		}
		if !foreign {
			kept = append(kept, variable)
		}
	}
	return kept
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

// await sets URL and waits until a request is answered.
func (s *Server) await(ctx context.Context, urls <-chan string) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	select {
	case s.URL = <-urls:
	case <-s.done:
		return errors.New("it ended at once")
	case <-ctx.Done():
		return fmt.Errorf("waiting until it listens: %w", ctx.Err())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/moto-api/data.json", nil)
	if err != nil {
		return fmt.Errorf("asking whether it answers: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking whether it answers: %w", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking whether it answers: status %s", response.Status)
	}
	return nil
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

// Config is a configuration for SDK clients of the server, with credentials that it does not check.
func (s *Server) Config() aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(s.URL),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// tail passes on what it is given and remembers its end, so that an error can quote it.
type tail struct {
	next io.Writer // may be nil

	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-tailBytes):]
	if t.next == nil {
		return len(p), nil
	}
	return t.next.Write(p)
}

// String is ": " and what was written last, or nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.last)); text != "" {
		return ": " + text
	}
	return ""
}
