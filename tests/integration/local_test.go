package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"patchbay/scripts/localstack"
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
// one interrupt ends every child: a Ctrl-C, which the terminal sends to the whole process group, and one that reaches the
// command alone, as a supervisor sends it.
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
		if hasProc() && len(processesUnder(t, data)) < 2 {
			t.Errorf("sees %q, not the children, so it would not see what is left of them", processesUnder(t, data))
		}
		target := command.Process.Pid
		if round == 1 {
			target = -target // the group
		}
		if err := syscall.Kill(target, syscall.SIGINT); err != nil {
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
		if !hasProc() {
			t.Log("this system has no /proc, so nobody looks for children that were left behind")
			continue
		}
		eventually(t, "every child to be gone", func() bool { return len(processesUnder(t, data)) == 0 })
	}
}

// hasProc reports whether the system tells of its processes in /proc, as Linux does and macOS does not.
func hasProc() bool { return exists("/proc/self/cmdline") }

// processesUnder returns the command lines of processes that name something below dir, as /proc tells.
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
		"a build command that fails": {[]string{"--functions", filepath.Join(broken, "command")},
			[]string{"failing/tool.json", "exit status 7", "no such color"}},
		"requirements without versions": {[]string{"--functions", filepath.Join(broken, "loose")},
			[]string{"unpinned/tool.json", "six", "NAME==VERSION"}},
		"a contract that takes longer than the gateway waits": {[]string{"--functions", "small", "--answer-within", "2s"},
			[]string{"linger/tool.json", "after 2 seconds", "after 10"}},
		"an origin that is a page": {[]string{"--functions", "small", "--origin", "https://a.example/page"},
			[]string{"https://a.example/page", "a scheme, a host"}},
		"a cache scope that is none": {[]string{"--functions", "small", "--cache-scope", "secret"},
			[]string{"secret", "public, private"}},
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

// A function in Node.js is a tool like any other, on the Node that package.json pins; its defects stay inside.
func TestNodeFunction(t *testing.T) {
	t.Parallel()
	got := call(t, fixtures.URL, "echo_node", `{"text":"ä"}`)
	var said struct {
		Text, Node, RequestID string
		Remaining             bool
	}
	err := json.Unmarshal(got.StructuredContent, &said)
	if err != nil || said.Text != "ä" || !strings.HasPrefix(said.Node, "24.") || said.RequestID == "" || !said.Remaining {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := call(t, fixtures.URL, "echo_node", `{"text":"throw"}`); !got.IsError || internals.MatchString(got.text()) {
		t.Errorf("got %+v", got)
	}
	eventually(t, "the cause to be logged", func() bool { return len(fixtures.log.find("dispatcher", "sekrit", "RangeError")) == 1 })
	if got := call(t, fixtures.URL, "echo_node", `{"text":"again"}`); got.IsError {
		t.Errorf("the next call: %+v", got)
	}
}

// What a contract and a folder say about how a function is built is done, in each language.
func TestFunctionsAreBuiltAsTheySay(t *testing.T) {
	t.Parallel()
	dir := functionsFolder(t, map[string]string{
		"built_go/tool.json":            toolJSON("built_go", `{"runtime":"go","build":["go","build","-ldflags=-X=main.stamp=built","-o","bootstrap","."]}`),
		"built_go/main.go":              builtGo,
		"built_node/tool.json":          toolJSON("built_node", `{"runtime":"nodejs","handler":"app.handler","build":["sh","-c","echo \"export const stamp = 'built';\" > stamp.mjs"]}`),
		"built_node/app.mjs":            builtNode,
		"built_python/tool.json":        toolJSON("built_python", `{"runtime":"python","handler":"app.handler"}`),
		"built_python/app.py":           builtPython,
		"built_python/requirements.txt": "six==1.17.0\n",
	})
	s, err := start(t.Context(), localstack.Options{Functions: dir, Data: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, name := range []string{"built_go", "built_node", "built_python"} {
		if got := call(t, s.URL, name, `{}`); got.text() != "built" {
			t.Errorf("%s says %+v", name, got)
		}
	}
	for _, path := range []string{"built_go/bootstrap", "built_node/stamp.mjs"} {
		if exists(filepath.Join(dir, path)) {
			t.Errorf("%s was left in the source", path)
		}
	}
}

const (
	builtGo = `// Command built_go says how it was built.
package main

import (
	"context"

	"patchbay/shared/tool"
)

var stamp = "not by its own command"

func main() { tool.Serve(func(context.Context, struct{}) (string, error) { return stamp, nil }) }
`
	// Streams as AWS's runtime lets it: the result is a line of its own.
	builtNode = `import { stamp } from './stamp.mjs';
export const handler = awslambda.streamifyResponse(async (event, stream) => {
  stream.write(JSON.stringify({ content: [{ type: 'text', text: stamp }] }) + '\n');
  stream.end();
});
`
	builtPython = `import six

def handler(event, context):
    return {"content": [{"type": "text", "text": "built" if six.PY3 else "old"}]}
`
)

func toolJSON(name, function string) string {
	return fmt.Sprintf(`{"name":%q,"description":"A tool that says how its function was built.",
		"inputSchema":{"type":"object","additionalProperties":false},
		"contract":{"risk":"low","autonomous":true,"function":%s}}`, name, function)
}

// brokenFunctions writes folders of functions that cannot be served.
func brokenFunctions(t *testing.T) string {
	t.Helper()
	contract, server := readFile(t, "small/greet/tool.json"), readFile(t, "small/server.json")
	return functionsFolder(t, map[string]string{
		"contract/server.json":            server,
		"contract/bad/tool.json":          `{"name":"bad","description":"A contract with several faults at once.","inputSchema":{"type":"array"},"contract":{"risk":"huge"}}`,
		"code/server.json":                server,
		"code/wrong/tool.json":            strings.ReplaceAll(contract, `"greet"`, `"wrong"`),
		"code/wrong/main.go":              "// Command wrong does not build.\npackage main\n\nfunc main() { nonsense() }\n",
		"command/server.json":             server,
		"command/failing/tool.json":       toolJSON("failing", `{"runtime":"nodejs","handler":"app.handler","build":["sh","-c","echo no such color; exit 7"]}`),
		"loose/server.json":               server,
		"loose/unpinned/tool.json":        toolJSON("unpinned", `{"runtime":"python","handler":"app.handler"}`),
		"loose/unpinned/requirements.txt": "six\n",
	})
}

// functionsFolder writes files, and a server.json, within this module so that Go functions among them can be built.
func functionsFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "_broken-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	files["server.json"] = readFile(t, "small/server.json")
	for name, content := range files {
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

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
