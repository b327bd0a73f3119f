package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"patchbay/scripts/localstack"
)

// program is the patchbay program, built once for all tests.
func program(t *testing.T) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildProgram = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs(filepath.Join(dataOf("program"), "patchbay"))
	if err != nil {
		return "", fmt.Errorf("locating where patchbay is built: %w", err)
	}
	output, err := exec.Command("go", "build", "-o", path, "patchbay/scripts/patchbay").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building patchbay: %w\n%s", err, output)
	}
	return path, nil
})

// localCommand is a running ./scripts/local, or what that replaces itself by.
type localCommand struct {
	*exec.Cmd
	url    string
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

// startLocal starts a command and waits until it says that it is ready.
func startLocal(t *testing.T, name string, args ...string) *localCommand {
	t.Helper()
	return startLocalIn(t, "", name, args...)
}

// startLocalIn does so in a folder; the empty one is this package's.
func startLocalIn(t *testing.T, dir, name string, args ...string) *localCommand {
	t.Helper()
	c := &localCommand{Cmd: exec.CommandContext(t.Context(), name, args...)}
	c.Dir = dir
	// A group of its own, as a terminal makes one for what it starts.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Stderr = &c.stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(stdout)
	if !c.lines.Scan() {
		_ = c.Wait()
		t.Fatalf("ended without a line: %s", &c.stderr)
	}
	url, ready := strings.CutPrefix(c.lines.Text(), "ready: ")
	if !ready || !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/mcp") {
		t.Fatalf("the first line is %q", c.lines.Text())
	}
	c.url = url
	return c
}

// interrupt signals a process, or with a negative number a group, and returns what the command printed until it ended.
func (c *localCommand) interrupt(t *testing.T, pid int) string {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var rest strings.Builder
	for c.lines.Scan() {
		rest.WriteString(c.lines.Text() + "\n")
	}
	if err := c.Wait(); err != nil {
		t.Errorf("after an interrupt: %v\n%s", err, &c.stderr)
	}
	return rest.String()
}

// The command as people use it: it says when it is ready and how to go on, answers, starts again on the same data, and
// one interrupt ends every child: one that reaches the command alone, as a supervisor sends it, and a Ctrl-C, which the
// terminal sends to the whole process group.
func TestLocalCommand(t *testing.T) {
	t.Parallel()
	patchbay := program(t)
	data := filepath.Join(t.TempDir(), "data")
	for _, group := range []bool{false, true} {
		command := startLocal(t, patchbay, "local", "--addr", "127.0.0.1:0", "--functions", "small", "--data", data,
			"--trace")
		if got := call(t, command.url, "greet", `{"name":"Ada"}`); got.text() != "Hello, Ada!" {
			t.Errorf("got %+v", got)
		}
		if hasProc() && len(processesUnder(t, data)) < 2 {
			t.Errorf("sees %q, not the children, so it would not see what is left of them", processesUnder(t, data))
		}
		pid := command.Process.Pid
		if group {
			pid = -pid
		}
		rest := command.interrupt(t, pid)
		for _, part := range []string{"curl", "inspector", command.url} {
			if !strings.Contains(rest, part) {
				t.Errorf("does not tell how to use it with %s: %s", part, rest)
			}
		}
		for _, part := range []string{"200 OK", "└─ dispatcher", "   └─ greet"} {
			if logged := command.stderr.String(); !strings.Contains(logged, part) || strings.Contains(logged, "\x1b") {
				t.Errorf("does not show %s, or colours where there is no terminal:\n%s", part, logged)
			}
		}
		if !hasProc() {
			t.Log("this system has no /proc, so nobody looks for children that were left behind")
			continue
		}
		eventually(t, "every child to be gone", func() bool { return len(processesUnder(t, data)) == 0 })
	}
}

// The launcher takes paths as they are seen from where people stand, and hands on what the flags say; beside it, an
// operator disables and enables tools.
func TestLocalCommandBesideAnOperator(t *testing.T) {
	t.Parallel()
	patchbay := program(t)
	data, err := os.MkdirTemp(".", "_broken-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	command := startLocal(t, filepath.Join(root, "scripts", "local"), "--addr", "127.0.0.1:0", "--functions", "small",
		"--data", data, "--origin", "https://app.example.com", "--cache-ttl", "0", "--cache-scope", "private")
	if _, _, page := list(t, command.url, ""); !strings.Contains(page, `"ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("the flags for caching came to %s", page)
	}
	for origin, want := range map[string]int{
		"https://app.example.com": 200, "http://localhost:1": 200, "https://other.example": 403,
	} {
		if got := statusFor(t, command.url, origin); got != want {
			t.Errorf("origin %s is answered with %d, want %d", origin, got, want)
		}
	}
	operate := func(args ...string) (string, error) {
		args = append([]string{"tool", "--data", data}, args...)
		output, err := exec.CommandContext(t.Context(), patchbay, args...).CombinedOutput()
		return string(output), err
	}
	if said, err := operate("disable", "no_such_tool"); err == nil || !strings.Contains(said, "no_such_tool") {
		t.Errorf("disabling what nobody publishes: %v, %s", err, said)
	}
	for _, step := range []struct {
		word   string
		listed bool
	}{{"disable", false}, {"enable", true}} {
		if said, err := operate(step.word, "greet"); err != nil || !strings.Contains(said, "greet is "+step.word+"d") {
			t.Fatalf("%s: %v, %s", step.word, err, said)
		}
		eventually(t, "tool "+step.word+" to be seen", func() bool {
			names, _, _ := list(t, command.url, "")
			return slices.Contains(names, "greet") == step.listed
		})
	}
	command.interrupt(t, command.Process.Pid)
	if said, err := operate("disable", "greet"); err == nil || !strings.Contains(said, "no local stack is running") {
		t.Errorf("after the stack has ended: %v, %s", err, said)
	}
}

// statusFor is the status of a list that a web page of the origin asks for.
func statusFor(t *testing.T, url, origin string) int {
	t.Helper()
	body := strings.NewReader(message("tools/list", ""))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", "Origin": origin,
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
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
		"a log format that is none": {[]string{"--functions", "small", "--log-format", "xml"},
			[]string{"xml", "pretty, json"}},
		"an unknown flag": {[]string{"--nonsense"}, []string{"--nonsense"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			args := append([]string{"local", "--addr", "127.0.0.1:0", "--data", data}, test.args...)
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
	got = call(t, fixtures.URL, "echo_node", `{"text":"throw"}`)
	id := regexp.MustCompile(`request id ([0-9a-f-]+)`).FindStringSubmatch(got.text())
	if !got.IsError || internals.MatchString(got.text()) || id == nil {
		t.Fatalf("got %+v", got)
	}
	eventually(t, "the cause to be logged", func() bool {
		return len(fixtures.log.find("dispatcher", "sekrit", "RangeError", id[1])) == 1
	})
	if got := call(t, fixtures.URL, "echo_node", `{"text":"again"}`); got.IsError {
		t.Errorf("the next call: %+v", got)
	}
}

// What a contract and a folder say about how a function is built is done, in each language.
func TestFunctionsAreBuiltAsTheySay(t *testing.T) {
	t.Parallel()
	dir := functionsFolder(t, map[string]string{
		"built_go/tool.json": toolJSON("built_go",
			`{"runtime":"go","build":["go","build","-ldflags=-X=main.stamp=built","-o","bootstrap","."]}`),
		"built_go/main.go": builtGo,
		"built_node/tool.json": toolJSON("built_node", `{"runtime":"nodejs","handler":"app.handler",
			"build":["sh","-c","echo \"export const stamp = 'built';\" > stamp.mjs"]}`),
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
		"contract/server.json": server,
		"contract/bad/tool.json": `{"name":"bad","description":"A contract with several faults at once.",
			"inputSchema":{"type":"array"},"contract":{"risk":"huge"}}`,
		"code/server.json":     server,
		"code/wrong/tool.json": strings.ReplaceAll(contract, `"greet"`, `"wrong"`),
		"code/wrong/main.go":   "// Command wrong does not build.\npackage main\n\nfunc main() { nonsense() }\n",
		"command/server.json":  server,
		"command/failing/tool.json": toolJSON("failing", `{"runtime":"nodejs","handler":"app.handler",
			"build":["sh","-c","echo no such color; exit 7"]}`),
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
