package locallambda

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"patchbay/scripts/child"
)

// state is where an instance is in its life.
type state int

const (
	starting  state = iota
	busy            // has an invocation; holds a slot of the concurrency limit
	finishing       // has answered it; still holds the slot
	idle            // frozen, holds nothing
	ending
)

// instance is one running bootstrap: AWS's execution environment.
type instance struct {
	id      string
	service *Service
	version *version
	// state is guarded by the service's lock.
	state state

	cmd    *exec.Cmd
	server *http.Server
	logs   *lineReader
	// ready is closed at the first request for work, initFailed when the runtime reports that init went wrong, exited
	// when the process and its children are gone.
	ready, initFailed, exited chan struct{}
	// inbox hands an invocation to the runtime's waiting request.
	inbox chan *invocation

	mu        sync.Mutex
	current   *invocation
	frozen    bool
	dead      bool
	isReady   bool
	initError []byte
	// cause says why the service killed the instance; it becomes the errorMessage where there is one.
	cause string
	// verdict is how the process ended, to be read after exited.
	verdict string
}

// The causes of a kill that decide what the caller is told.
const (
	causeTimeout   = "timeout"
	causeMemory    = "memory"
	causeTruncated = "truncated response"
)

// truncationGrace is how long a process whose answer broke off gets to end by itself, so that its exit status tells
// why.
const truncationGrace = 2 * time.Second

// newInstance starts a bootstrap for an invocation.
func (s *Service) newInstance(inv *invocation) (*instance, error) {
	v := inv.version
	in := &instance{
		id: uuid.NewString(), service: s, version: v,
		ready: make(chan struct{}), initFailed: make(chan struct{}), exited: make(chan struct{}),
		inbox: make(chan *invocation, 1),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the runtime API: %w", err)
	}
	in.server = &http.Server{Handler: in.runtimeAPI()}
	s.observe(Starting, inv.call, v.number, in.id, "")
	if err := in.run(listener.Addr().String()); err != nil {
		listener.Close()
		return nil, err
	}
	go in.server.Serve(listener)
	s.register(in)
	return in, nil
}

// run starts the process with its output going to the log.
func (in *instance) run(address string) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe for the output: %w", err)
	}
	defer writer.Close()
	v := in.version
	in.cmd = &exec.Cmd{
		Path: v.Command[0], Args: v.Command, Dir: v.Dir, Env: v.environment(address, in.id),
		Stdout: writer, Stderr: writer, SysProcAttr: child.Attributes(killSignal),
	}
	if err := in.service.starter.do(in.cmd.Start); err != nil {
		reader.Close()
		return startError(v.program(), err)
	}
	in.logs = newLineReader(reader, func(line []byte) { in.service.options.Log(v.Name, in.id, line) })
	return nil
}

// register puts the instance under the service's care, unless that has closed meanwhile.
func (s *Service) register(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances[in] = struct{}{}
	// The launching goroutine is counted, so the count can't be zero while it adds.
	s.work.Add(1)
	go in.watch()
	if s.closed {
		in.kill("")
	}
}

// environment is what Lambda sets. Source: docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html. The
// function's own settings may replace the general ones, but not what the runtime needs to find its service.
func (v *version) environment(address, instanceID string) []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin", "LANG=en_US.UTF-8", "TZ=:UTC",
		"_HANDLER=bootstrap", "AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023",
		"AWS_REGION=" + v.function.place.region, "AWS_DEFAULT_REGION=" + v.function.place.region,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_SESSION_TOKEN=local",
		"LAMBDA_TASK_ROOT=" + v.Dir, "LAMBDA_RUNTIME_DIR=" + v.Dir,
	}
	for _, key := range slices.Sorted(maps.Keys(v.Env)) {
		env = append(env, key+"="+v.Env[key])
	}
	return append(env,
		"AWS_LAMBDA_RUNTIME_API="+address,
		"AWS_LAMBDA_FUNCTION_NAME="+v.Name,
		"AWS_LAMBDA_FUNCTION_VERSION="+v.number,
		fmt.Sprintf("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=%d", v.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/"+v.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=["+v.number+"]"+strings.ReplaceAll(instanceID, "-", ""),
	)
}

// launch starts an instance for an invocation and hands it over. An init that fails is tried once more within the
// function's timeout. Source: docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html, "Failures during
// the init phase".
func (s *Service) launch(inv *invocation) {
	defer s.work.Done()
	v := inv.version
	in, failure := s.init(inv, s.options.InitTimeout, "")
	deadline := time.Now().Add(v.Timeout)
	if failure != nil {
		in, failure = s.init(inv, v.Timeout, causeTimeout)
	}
	if failure == nil && s.occupy(in) && in.deliver(inv, deadline) {
		return
	}
	if failure == nil {
		// The process died between its first request for work and the hand-over, and the slot was given back.
		<-in.exited
		inv.fail(in.explain(inv))
		return
	}
	s.mu.Lock()
	s.leave(v.function)
	s.mu.Unlock()
	inv.fail(failure)
}

// occupy makes a fresh instance the owner of the slot that its launch holds.
func (s *Service) occupy(in *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.state != starting {
		s.leave(in.version.function)
		return false
	}
	in.state = busy
	return true
}

// init starts an instance and waits until it is ready for work; else it returns the invocation's failure.
func (s *Service) init(inv *invocation, limit time.Duration, cause string) (*instance, []byte) {
	in, err := s.newInstance(inv)
	if err != nil {
		return nil, s.failure(inv, "", "Runtime.InvalidEntrypoint", err.Error())
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-in.ready:
		return in, nil
	case <-in.initFailed:
		// A runtime exits after such a report; what it still has to log should not be lost.
		in.awaitExit(time.Second)
	case <-in.exited:
	case <-timer.C:
		in.note("Init did not finish within " + limit.String())
		in.kill(cause)
	}
	in.kill("")
	<-in.exited
	return nil, in.explain(inv)
}

func (in *instance) awaitExit(limit time.Duration) {
	select {
	case <-in.exited:
	case <-time.After(limit):
	}
}

// deliver hands an invocation to the instance, which then has until the deadline. It is false when the process is gone.
func (in *instance) deliver(inv *invocation, deadline time.Time) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.dead {
		return false
	}
	if in.frozen {
		signalGroup(in.cmd.Process.Pid, continueSignal)
		in.frozen = false
	}
	inv.deadline = deadline
	inv.timer = time.AfterFunc(time.Until(deadline), func() { in.timeOut(inv) })
	in.current = inv
	in.service.observe(Begun, inv.call, in.version.number, in.id, "")
	in.inbox <- inv
	return true
}

func (in *instance) timeOut(inv *invocation) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == inv {
		in.killLocked(causeTimeout)
	}
}

// release ends the current invocation, if there is one and it was answered.
func (in *instance) release() (had bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == nil {
		return false, nil
	}
	if !in.current.claimed {
		return false, errors.New("the current invocation has not been answered")
	}
	in.current.timer.Stop()
	in.current = nil
	return true, nil
}

// freeze stops the process until its next invocation, unless that is already there.
func (in *instance) freeze() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == nil && !in.dead {
		signalGroup(in.cmd.Process.Pid, stopSignal)
		in.frozen = true
	}
}

// kill ends the process and its children. The first cause counts.
func (in *instance) kill(cause string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.killLocked(cause)
}

func (in *instance) killLocked(cause string) {
	if in.dead {
		return
	}
	if in.cause == "" {
		in.cause = cause
	}
	signalGroup(in.cmd.Process.Pid, killSignal)
}

// watch waits for the end of the process and clears up after it.
func (in *instance) watch() {
	defer in.service.work.Done()
	in.cmd.Wait()
	// Children that the process left behind.
	signalGroup(in.cmd.Process.Pid, killSignal)

	in.mu.Lock()
	in.dead = true
	in.verdict = in.cmd.ProcessState.String()
	current := in.current
	in.mu.Unlock()
	in.logs.finish()
	in.server.Close()
	// First the slot, so that whoever sees the failure can invoke again at once.
	in.service.lost(in)
	close(in.exited)
	if current != nil {
		current.timer.Stop()
		current.fail(in.explain(current))
	}
}

// explain makes and logs the failure of an invocation whose instance has ended. What the runtime reported itself it
// also logs itself.
func (in *instance) explain(inv *invocation) []byte {
	in.mu.Lock()
	initError := in.initError
	kind, message := in.fault()
	in.mu.Unlock()
	if initError != nil && kind != kindTimeout {
		return initError
	}
	return in.service.failure(inv, in.id, kind, message)
}

// kindTimeout is the errorType of an invocation that took too long.
const kindTimeout = "Sandbox.Timedout"

// fault says why the instance is gone, as errorType and errorMessage. The lock must be held.
func (in *instance) fault() (kind, message string) {
	switch {
	case in.cause == causeTimeout:
		return kindTimeout, fmt.Sprintf("Task timed out after %.2f seconds", in.version.Timeout.Seconds())
	case in.cause == causeTruncated:
		return "Runtime.TruncatedResponse", "The runtime broke off its response"
	case in.verdict == "exit status 0":
		return "Runtime.ExitError", "Runtime exited without providing a reason"
	}
	return "Runtime.ExitError", "Runtime exited with error: " + in.verdict
}

// failure makes the payload of a failure that the function did not report itself, and logs it, since nobody else will:
// callers see it, but not whoever reads a function's log. The end that Close brings about is no news.
func (s *Service) failure(inv *invocation, instanceID, kind, message string) []byte {
	text := "RequestId: " + inv.requestID + " Error: " + message
	if s.ctx.Err() == nil {
		s.options.Log(inv.version.Name, instanceID, []byte(text))
	}
	return failure{Type: kind, Message: text}.payload()
}

// note writes a line of the service's own to the function's log.
func (in *instance) note(text string) {
	in.service.options.Log(in.version.Name, in.id, []byte(text))
}
