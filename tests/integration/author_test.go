package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"patchbay/tests/workcopy"
)

// What somebody does who has a clone and a tool in mind, as scripts in testdata/author. Beside testscript's own
// commands they have:
//
//	clone                         makes a fresh clone, and goes there
//	serve COMMAND ARG…            starts a server in a second terminal; its URL is $URL when it is ready
//	says REGEXP                   waits until the second terminal shows a line like this, after the one waited for last
//	edit FILE OLD NEW             replaces one text in a file by another, as a person does in an editor
//	eventually REGEXP COMMAND…    runs a command until it prints a line like this
func TestAuthorsLoop(t *testing.T) {
	t.Parallel()
	patchbay := program(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "author"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			return prepareAuthor(env, filepath.Dir(patchbay))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"clone": cloneForAuthor, "serve": serve, "says": saysLine, "edit": edit, "eventually": eventuallyPrints,
		},
	})
}

// prepareAuthor gives a script the developer's own tools and caches: testscript's environment is empty.
func prepareAuthor(env *testscript.Env, programs string) error {
	for _, name := range []string{"HOME", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GOSUMDB",
		"PIP_INDEX_URL", "NPM_CONFIG_REGISTRY"} {
		if value, ok := os.LookupEnv(name); ok {
			env.Setenv(name, value)
		}
	}
	env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Values[terminalKey{}] = &secondTerminal{}
	return nil
}

func cloneForAuthor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: clone")
	}
	dir := ts.MkAbs("patchbay")
	ts.Check(workcopy.Make(context.Background(), root, dir))
	ts.Check(ts.Chdir(dir))
}

type terminalKey struct{}

// secondTerminal is where a server runs while commands are given beside it.
type secondTerminal struct {
	mu    sync.Mutex
	shown bytes.Buffer
	// read is how much of it a script has waited for.
	read int
}

// Write keeps what the server prints.
func (s *secondTerminal) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(data)
}

// find returns the first line like a pattern that was shown since the last one that was found.
func (s *secondTerminal) find(pattern *regexp.Regexp) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.shown.Bytes()[s.read:]
	at := pattern.FindIndex(rest)
	if at == nil {
		return "", false
	}
	s.read += at[1]
	return string(rest[at[0]:at[1]]), true
}

func (s *secondTerminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// authorsPatience bounds a wait, so that a script that waits in vain is told with what was seen.
const authorsPatience = 3 * time.Minute

func waitPatiently(happened func() bool) bool {
	for deadline := time.Now().Add(authorsPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if happened() {
			return true
		}
	}
	return false
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve COMMAND ARG…")
	}
	terminal := ts.Value(terminalKey{}).(*secondTerminal)
	// env looks for the command where the script does, and replaces itself by it.
	command := exec.Command("env", append([]string{"PATH=" + ts.Getenv("PATH")}, args...)...)
	command.Dir = ts.MkAbs(".")
	command.Stdout, command.Stderr = terminal, terminal
	// A group of its own, as a terminal makes one for what it starts.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ts.Defer(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT)
		if err := <-ended; err != nil {
			ts.Logf("after an interrupt: %v\n%s", err, terminal.text())
		}
	})
	ready := regexp.MustCompile(`(?m)^ready: (\S+)$`)
	if !waitPatiently(func() bool { return ready.MatchString(terminal.text()) || len(ended) > 0 }) || len(ended) > 0 {
		ts.Fatalf("is not ready:\n%s", terminal.text())
	}
	ts.Setenv("URL", ready.FindStringSubmatch(terminal.text())[1])
}

func saysLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: says REGEXP")
	}
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	terminal := ts.Value(terminalKey{}).(*secondTerminal)
	var line string
	if !waitPatiently(func() bool { found := false; line, found = terminal.find(pattern); return found }) {
		ts.Fatalf("the second terminal never says %s:\n%s", args[0], terminal.text())
	}
	ts.Logf("the second terminal says %s", line)
}

func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[1]); n != 1 {
		ts.Fatalf("%s has %q %d times, not once:\n%s", args[0], args[1], n, text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

func eventuallyPrints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND…")
	}
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	printed := ""
	if !waitPatiently(func() bool {
		_ = ts.Exec(args[1], args[2:]...) // its failure shows in what it prints
		printed = ts.ReadFile("stdout") + ts.ReadFile("stderr")
		return pattern.MatchString(printed)
	}) {
		ts.Fatalf("%v never prints %s, but\n%s\n%s", args[1:], args[0], printed,
			ts.Value(terminalKey{}).(*secondTerminal).text())
	}
}
