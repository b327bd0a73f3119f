package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program builds the patchbay program once for all tests of it.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patchbay")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "patchbay/scripts/patchbay").CombinedOutput()
	if err != nil {
		t.Fatalf("building patchbay: %v\n%s", err, output)
	}
	return path
}

// The command as people use it: it says when it is ready and how to go on, answers, starts again on the same data, and
// one interrupt ends every child.
func TestLocalCommand(t *testing.T) {
	t.Parallel()
	patchbay := program(t)
	data := filepath.Join(t.TempDir(), "data")
	for round := range 2 {
		command := exec.CommandContext(t.Context(), patchbay, "local", "--addr", "127.0.0.1:0", "--functions", "small", "--data", data)
		// A group of its own, so that what it leaves behind can be found.
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var stderr bytes.Buffer
		command.Stderr = &stderr
		stdout, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		if !lines.Scan() {
			_ = command.Wait()
			t.Fatalf("round %d ended without a line: %s", round, &stderr)
		}
		url, ready := strings.CutPrefix(lines.Text(), "ready: ")
		if !ready || !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/mcp") {
			t.Fatalf("the first line is %q", lines.Text())
		}
		if got := call(t, url, "greet", `{"name":"Ada"}`); got.text() != "Hello, Ada!" {
			t.Errorf("got %+v", got)
		}
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		var rest strings.Builder
		for lines.Scan() {
			rest.WriteString(lines.Text() + "\n")
		}
		if err := command.Wait(); err != nil {
			t.Errorf("after an interrupt: %v\n%s", err, &stderr)
		}
		for _, part := range []string{"curl", "inspector", url} {
			if !strings.Contains(rest.String(), part) {
				t.Errorf("does not tell how to use it with %s: %s", part, &rest)
			}
		}
		eventually(t, "every child to be gone", func() bool { return len(processesUnder(t, data)) == 0 })
	}
}

// processesUnder returns the command lines of processes that run something below dir, as /proc tells; nil where there is
// no /proc.
func processesUnder(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// What is wrong ends the command with one clear message and a status that is not zero.
func TestLocalCommandRefuses(t *testing.T) {
	t.Parallel()
	patchbay := program(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	broken := brokenFunctions(t)
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"a port in use": {[]string{"--addr", listener.Addr().String(), "--functions", "small"},
			[]string{listener.Addr().String(), "in use", "--addr"}},
		"no such folder": {[]string{"--functions", filepath.Join(broken, "nothing")}, []string{"nothing"}},
		"a bad contract": {[]string{"--functions", filepath.Join(broken, "contract")},
			[]string{"contract/bad/tool.json", "/inputSchema", "/contract/risk", "low", "medium"}},
		"code that does not build": {[]string{"--functions", filepath.Join(broken, "code")},
			[]string{"wrong", "undefined: nonsense"}},
		"an unknown flag": {[]string{"--nonsense"}, []string{"--nonsense"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"local", "--addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data")}, test.args...)
			output, err := exec.CommandContext(t.Context(), patchbay, args...).CombinedOutput()
			if err == nil {
				t.Fatalf("ended with status 0: %s", output)
			}
			for _, part := range test.says {
				if !strings.Contains(string(output), part) {
					t.Errorf("%q does not say %q", output, part)
				}
			}
			if bytes.Contains(output, []byte("goroutine")) || bytes.Contains(output, []byte("ready:")) {
				t.Errorf("got %s", output)
			}
		})
	}
}

// brokenFunctions writes folders of functions that cannot be served, within this module so that they could be built.
func brokenFunctions(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "_broken-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	server, err := os.ReadFile(filepath.Join("small", "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile(filepath.Join("small", "greet", "tool.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"contract/server.json":   string(server),
		"contract/bad/tool.json": `{"name":"bad","description":"A contract with several faults at once.","inputSchema":{"type":"array"},"contract":{"risk":"huge"}}`,
		"code/server.json":       string(server),
		"code/wrong/tool.json":   strings.ReplaceAll(string(contract), `"greet"`, `"wrong"`),
		"code/wrong/main.go":     "// Command wrong does not build.\npackage main\n\nfunc main() { nonsense() }\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(fmt.Errorf("writing %s: %w", name, err))
		}
	}
	return dir
}
