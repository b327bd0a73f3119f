package samstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"patchbay/scripts/child"
)

// stopWait is how long SAM may take to remove its containers before it is killed.
const stopWait = 30 * time.Second

// service is a running sam local command.
type service struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, to be read when done is closed
	last lastLines
}

// startService runs sam in root. It gets a group of its own, so that a Ctrl-C in the terminal does not reach it before
// the stack ends it in order. Should this process be killed, it is asked to end all the same, where the system can do
// that: asked and not killed, so that it removes its containers.
func startService(
	program, root, dockerHost string, log func(string, []byte), args ...string,
) (*service, error) {
	s := &service{name: "sam " + strings.Join(args[:2], " "), done: make(chan struct{})}
	s.cmd = exec.Command(program, args...)
	s.cmd.Dir = root
	s.cmd.Env = environment(s.cmd.Environ())
	if dockerHost != "" {
		s.cmd.Env = append(s.cmd.Env, "DOCKER_HOST="+dockerHost)
	}
	s.cmd.SysProcAttr = child.Attributes(syscall.SIGTERM)
	reader, writer := io.Pipe()
	s.cmd.Stdout, s.cmd.Stderr = writer, writer
	go s.read(reader, log)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // see child.Attributes
		defer runtime.UnlockOSThread()
		defer close(s.done)
		defer writer.Close()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.err = s.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.name, err)
	}
	return s, nil
}

// environment is what SAM gets: the developer's own, but with the keys of nobody. SAM hands the keys that it finds to
// every function, and an example must not act in somebody's account because of a profile on this machine.
func environment(from []string) []string {
	own := slices.DeleteFunc(slices.Clone(from), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "PATCHBAY_")
	})
	return append(own, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_REGION="+region,
		"AWS_DEFAULT_REGION="+region, "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "SAM_CLI_TELEMETRY=0", "SAM_CLI_CONTAINER_CONNECTION_TIMEOUT=60",
		"PYTHONUNBUFFERED=1")
}

// read hands over the lines of the service, which are also those of its functions.
func (s *service) read(from io.Reader, log func(string, []byte)) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimRight(line, "\r\n"); text != "" {
			s.last.add(text)
			log(s.name, []byte(text))
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}

// await returns when something listens at the address.
func (s *service) await(ctx context.Context, address string) error {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.done:
			return fmt.Errorf("%s ended by itself: %s", s.name, s.last.String())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", s.name, ctx.Err(), s.last.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stop ends the service, which removes its containers, and returns when it is gone.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return nil
	case <-time.After(stopWait):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
		return errors.New(s.name + " had to be killed")
	}
}

// lastLines remembers the end of an output, so that an error can quote it.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lastLines) add(line string) {
	const most = 12
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	l.lines = l.lines[max(0, len(l.lines)-most):]
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
