package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"patchbay/scripts/localstack"
)

// doors stand between the dispatcher and what it calls, DynamoDB and Lambda, so that a test sees every request of a
// call and does to it what it likes.
type doors struct {
	database, lambda *httptest.Server
	// databaseURL and lambdaURL are what lies behind them.
	databaseURL, lambdaURL string
	// program is the dispatcher's, by which its processes are found.
	program string

	mu      sync.Mutex
	watches []*watch
}

// step is one request of the dispatcher.
type step struct {
	// name is like "PutItem LEASE" or "Invoke".
	name string
	// pid is the dispatcher's process; 0 where the system does not tell.
	pid int
	// forward sends the request on. What is behind the door does not learn that the dispatcher has died.
	forward func() *reply
	// gone is closed when the dispatcher waits no more.
	gone <-chan struct{}
}

// reply is an answer; nil breaks the connection.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// watch takes the requests of one call: those that name its record, and from then on all of the process that sent them,
// since an instance serves one call at a time.
type watch struct {
	token  string
	handle func(index int, s step) *reply

	// The doors' lock guards these.
	pid  int
	seen []string
}

// countingStack is a stack of the counting tools whose dispatcher calls through doors.
type countingStack struct {
	*server
	doors *doors
	// data is the stack's folder.
	data string
}

// counting starts a stack of its own with the counting tools.
func counting(t *testing.T, name string, change func(*localstack.Options)) *countingStack {
	t.Helper()
	// Kept from run to run, so that only what changed is built again.
	data, err := filepath.Abs(dataOf(name))
	if err != nil {
		t.Fatal(err)
	}
	d := &doors{program: filepath.Join(data, "build", "dispatcher", "bootstrap")}
	d.database = d.serve(t, func() string { return d.databaseURL }, databaseStep)
	d.lambda = d.serve(t, func() string { return d.lambdaURL }, lambdaStep)
	options := localstack.Options{Functions: "effects", Data: data, Dispatcher: d.stand}
	if change != nil {
		change(&options)
	}
	s, err := start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &countingStack{s, d, data}
}

// stand puts the doors into the dispatcher's environment.
func (d *doors) stand(environment map[string]string) {
	const database, lambda = "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_LAMBDA"
	d.databaseURL, environment[database] = environment[database], d.database.URL
	d.lambdaURL, environment[lambda] = environment[lambda], d.lambda.URL
}

type processKey struct{}

func (d *doors) serve(t *testing.T, target func() string, name func(*http.Request, []byte) string) *httptest.Server {
	door := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		process := r.Context().Value(processKey{}).(func() int)
		s := step{
			name: name(r, body), pid: process(), gone: r.Context().Done(),
			forward: func() *reply { return forward(r, target(), body) },
		}
		answer := d.handle(s, body)
		if answer == nil {
			panic(http.ErrAbortHandler)
		}
		for key, values := range answer.header {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.status)
		_, _ = w.Write(answer.body)
	}))
	door.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, processKey{}, sync.OnceValue(func() int { return d.process(c) }))
	}
	door.Start()
	t.Cleanup(door.Close)
	return door
}

// forwarding keeps what it passes on as it is.
var forwarding = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}

func forward(r *http.Request, target string, body []byte) *reply {
	// The dispatcher's death closes its connection; what it asked for is done all the same.
	ctx := context.WithoutCancel(r.Context())
	request, err := http.NewRequestWithContext(ctx, r.Method, target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil
	}
	request.Header = r.Header.Clone()
	response, err := forwarding.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil
	}
	return &reply{response.StatusCode, response.Header, answer}
}

// databaseStep names a request to DynamoDB: the operation and the kind of item; empty for the catalogue's, which belong
// to no call.
func databaseStep(r *http.Request, body []byte) string {
	type keys struct {
		PK struct{ S string } `json:"pk"`
	}
	var request struct {
		TableName string
		Key, Item keys
	}
	if json.Unmarshal(body, &request) != nil || request.TableName == localstack.Table {
		return ""
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	kind, _, _ := strings.Cut(request.Key.PK.S+request.Item.PK.S, "#")
	return operation + " " + kind
}

func lambdaStep(*http.Request, []byte) string { return "Invoke" }

func (d *doors) handle(s step, body []byte) *reply {
	if s.name == "" {
		return s.forward()
	}
	if w, index := d.take(s, body); w != nil {
		return w.handle(index, s)
	}
	return s.forward()
}

// take finds the watch that a request belongs to. One that names a record tells whose call its process is at now.
func (d *doors) take(s step, body []byte) (*watch, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var owner *watch
	for _, w := range d.watches {
		if bytes.Contains(body, []byte(w.token)) {
			owner = w
		}
	}
	for _, w := range d.watches {
		switch {
		case w == owner:
			w.pid = s.pid
		case owner != nil && w.pid == s.pid:
			w.pid = 0
		case owner == nil && s.pid != 0 && w.pid == s.pid:
			owner = w
		}
	}
	if owner == nil {
		return nil, 0
	}
	owner.seen = append(owner.seen, s.name)
	return owner, len(owner.seen) - 1
}

// steps returns what a watch has seen.
func (d *doors) steps(w *watch) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(w.seen)
}

// watch sends the requests of the call whose record has this token through handle, until the returned function is
// called.
func (d *doors) watch(token string, handle func(index int, s step) *reply) (w *watch, end func()) {
	w = &watch{token: token, handle: handle}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watches = append(d.watches, w)
	return w, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.watches = slices.DeleteFunc(d.watches, func(other *watch) bool { return other == w })
	}
}

// process returns the process of the dispatcher at the other end of a connection, as /proc tells; else 0.
func (d *doors) process(c net.Conn) int {
	inode := socketInode(c.RemoteAddr().(*net.TCPAddr).Port, c.LocalAddr().(*net.TCPAddr).Port)
	if inode == "" {
		return 0
	}
	for _, pid := range processesOf(d.program) {
		sockets, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			return 0
		}
		for _, socket := range sockets {
			if target, err := os.Readlink(socket); err == nil && target == "socket:["+inode+"]" {
				return pid
			}
		}
	}
	return 0
}

// socketInode finds the socket of a connection on the loopback interface. Source: proc_net_tcp.txt of the kernel.
func socketInode(local, remote int) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	from, to := fmt.Sprintf(":%04X", local), fmt.Sprintf(":%04X", remote)
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 9 && strings.HasSuffix(fields[1], from) && strings.HasSuffix(fields[2], to) {
			return fields[9]
		}
	}
	return ""
}

// processesOf returns the processes that run a program, dead ones left out; none where there is no /proc.
func processesOf(program string) []int {
	return processes("exe", func(link string) bool {
		target, err := os.Readlink(link)
		return err == nil && strings.TrimSuffix(target, " (deleted)") == program
	})
}

// processes returns those of which a file in /proc passes.
func processes(file string, passes func(path string) bool) []int {
	paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
	var found []int
	for _, path := range paths {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && passes(path) {
			found = append(found, pid)
		}
	}
	return found
}

// kill ends a process as a machine that fails does, and returns when it is gone.
func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Errorf("the process to kill is not known")
		return
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("killing process %d: %v", pid, err)
		return
	}
	waitFor(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err != nil
	})
}

// waitFor is eventually for goroutines that are not the test's: a wait in vain is an error and false.
func waitFor(t *testing.T, what string, happened func() bool) bool {
	t.Helper()
	for range 3000 {
		if happened() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("waited in vain for %s", what)
	return false
}

// needsProc skips a test that must know which process sent what.
func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("kills single processes, which it finds through Linux's /proc:", err)
	}
}
