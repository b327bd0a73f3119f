// Package docker gives tests a Docker engine: the one that is reachable, else one of their own, started from Debian's
// packages and ended again. It can stand in for the base images of Lambda where no registry is reachable.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Bounds of the engine's start and end. It takes a second or two.
const (
	startWithin = time.Minute
	stopWithin  = 30 * time.Second
)

// bridge is the network interface that an engine makes, and leaves behind.
const bridge = "docker0"

// ErrMissing means that no engine is reachable and none can be started here.
var ErrMissing = errors.New("no Docker engine is reachable")

// Engine is a running Docker engine. Close ends it, where it was started here.
type Engine struct {
	// Host is the engine's address, as in DOCKER_HOST; empty for the one that the docker command finds by itself.
	Host string

	dir        string
	daemon     *exec.Cmd
	done       chan struct{}
	hadBridge  bool
	standIns   bool
	background io.Closer
}

// Reachable returns the engine that the docker command finds. The error is ErrMissing when there is none.
func Reachable(ctx context.Context) (*Engine, error) {
	engine := &Engine{}
	if _, err := engine.run(ctx, nil, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMissing, err)
	}
	return engine, nil
}

// Start starts an engine whose files lie in dir, a folder of its own. It needs Linux and root, and installs what is
// missing where apt-get can. Progress gets a line for what takes long.
func Start(ctx context.Context, dir string, progress io.Writer) (*Engine, error) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w, and starting one needs Linux and root", ErrMissing)
	}
	if err := install(ctx, progress); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "dockerd.log"))
	if err != nil {
		return nil, fmt.Errorf("making the engine's log: %w", err)
	}
	socket := "unix://" + filepath.Join(dir, "docker.sock")
	engine := &Engine{Host: socket, dir: dir, done: make(chan struct{}), standIns: true, background: log}
	_, err = net.InterfaceByName(bridge)
	engine.hadBridge = err == nil
	engine.daemon = exec.Command("dockerd", "--data-root", filepath.Join(dir, "root"),
		"--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"), "--host", socket)
	engine.daemon.Stdout, engine.daemon.Stderr = log, log
	// Its containers are ended by Close; a signal to the tests' group must not end it before them.
	engine.daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := engine.daemon.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("starting dockerd: %w", err)
	}
	go func() {
		engine.daemon.Wait()
		close(engine.done)
	}()
	if err := engine.await(ctx); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return engine, nil
}

// await returns when the engine answers.
func (e *Engine) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		_, err := e.run(ctx, nil, "version", "--format", "{{.Server.Version}}")
		if err == nil {
			return nil
		}
		select {
		case <-e.done:
			return fmt.Errorf("dockerd ended at once: %s", e.logTail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for dockerd: %w: %s", err, e.logTail())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (e *Engine) logTail() string {
	const most = 1000
	text, _ := os.ReadFile(filepath.Join(e.dir, "dockerd.log"))
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// Close removes the containers that are left and ends the engine, where it was started here, by its process id. What it
// has mounted goes with it, and so does its network interface where there was none before.
func (e *Engine) Close() error {
	if e.daemon == nil {
		return nil
	}
	defer e.background.Close()
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if left, err := e.run(ctx, nil, "ps", "--all", "--quiet"); err == nil && left != "" {
		e.run(ctx, nil, append([]string{"rm", "--force"}, strings.Fields(left)...)...)
	}
	e.daemon.Process.Signal(syscall.SIGTERM)
	select {
	case <-e.done:
	case <-ctx.Done():
		e.daemon.Process.Kill()
		return fmt.Errorf("dockerd did not end within %s: %s", stopWithin, e.logTail())
	}
	if !e.hadBridge {
		exec.Command("ip", "link", "delete", bridge).Run()
	}
	return nil
}

// Containers returns the names of the engine's containers, running or not, a line each.
func (e *Engine) Containers(ctx context.Context) (string, error) {
	return e.run(ctx, nil, "ps", "--all", "--format", "{{.Names}} {{.Image}} {{.Status}}")
}

// run runs the docker command and returns what it printed.
func (e *Engine) run(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdin = stdin
	if e.Host != "" {
		cmd.Env = append(cmd.Environ(), "DOCKER_HOST="+e.Host)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(output)), nil
}

// packages are the Debian packages with the programs that an engine and its images are made of.
var packages = map[string]string{"dockerd": "docker.io", "docker": "docker.io", "busybox": "busybox-static"}

// install installs what is missing.
func install(ctx context.Context, progress io.Writer) error {
	var missing []string
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%w; %s not installed", ErrMissing, strings.Join(missing, ", "))
	}
	fmt.Fprintf(progress, "installing %s (apt-get, once)\n", strings.Join(missing, ", "))
	// The list of packages may be missing or old, which shows when the installation fails.
	if aptGet(ctx, append([]string{"install"}, missing...)...) == nil {
		return nil
	}
	if err := aptGet(ctx, "update"); err != nil {
		return err
	}
	return aptGet(ctx, append([]string{"install"}, missing...)...)
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--yes", "--quiet", "--no-install-recommends"}, args...)...)
	// In this run level packages start no services of their own.
	cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, output)
	}
	return nil
}
