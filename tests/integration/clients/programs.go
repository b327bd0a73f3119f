package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// folder is where this package lies in the repository.
const folder = "tests/integration/clients"

func typeScriptClients(root string) []Client {
	node := nodeProgram(root)
	program := filepath.Join(root, folder, "js", "client.mjs")
	missing := missingFile(node, "run npm ci")
	if missing == "" {
		missing = missingFile(filepath.Join(root, "node_modules/@modelcontextprotocol/client"), "run npm ci")
	}
	mode := func(name, mode string, modern bool) Client {
		return Client{Name: name, Modern: modern, Progress: true, Missing: missing, Run: reporting(node, program, mode)}
	}
	return []Client{
		mode("typescript default", "default", false),
		mode("typescript auto", "auto", true),
		mode("typescript pinned", Revision, true),
	}
}

func pythonClients(root string) []Client {
	python := filepath.Join(root, ".patchbay/venv/bin/python")
	program := filepath.Join(root, folder, "python", "client.py")
	missing := missingFile(filepath.Join(root, ".patchbay/venv/bin/python"), "run "+folder+"/python/install")
	if missing == "" && exec.Command(python, "-c", "import mcp").Run() != nil {
		missing = python + " has no mcp package: run " + folder + "/python/install"
	}
	mode := func(name, mode string, modern bool) Client {
		return Client{Name: name, Modern: modern, Progress: true, Missing: missing, Run: reporting(python, program, mode)}
	}
	return []Client{
		mode("python", "auto", true),
		mode("python legacy", "legacy", false),
		mode("python pinned", Revision, true),
	}
}

// nodeProgram is the Node that package.json pins, whatever the machine has.
func nodeProgram(root string) string { return filepath.Join(root, "node_modules/node/bin/node") }

func missingFile(path, remedy string) string {
	if _, err := os.Stat(path); err != nil {
		return path + " does not exist: " + remedy
	}
	return ""
}

// reporting runs a program that takes URL and mode, reads the script and prints a Report.
func reporting(interpreter, program, mode string) func(context.Context, string, Script) (Report, error) {
	return func(ctx context.Context, url string, script Script) (Report, error) {
		var report Report
		input, err := json.Marshal(script)
		if err != nil {
			return report, fmt.Errorf("encoding the script: %w", err)
		}
		p := process{input: input, asks: visitLine}
		if script.SignIn != nil {
			p.visit = script.SignIn.Visit
		}
		output, err := p.run(ctx, interpreter, program, url, mode)
		if err != nil {
			return report, err
		}
		if err := json.Unmarshal(lastLine(output), &report); err != nil {
			return report, fmt.Errorf("decoding what %s printed: %w: %.300q", filepath.Base(program), err, output)
		}
		return report, nil
	}
}

func inspectors(root string) []Client {
	program := filepath.Join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	missing := missingFile(nodeProgram(root), "run npm ci")
	if missing == "" {
		missing = missingFile(program, "run npm ci")
	}
	inspect := func(name string, modern bool, options ...string) Client {
		i := inspector{node: nodeProgram(root), program: program, options: options}
		return Client{Name: name, Modern: modern, Missing: missing, Run: i.run}
	}
	return []Client{
		inspect("inspector default", false),
		inspect("inspector modern", true, "--protocol-era", "modern"),
	}
}

// inspector is the Inspector's CLI, which makes one request per run, and keeps tokens between runs in its home.
type inspector struct {
	node, program string
	options       []string
}

func (i inspector) run(ctx context.Context, url string, script Script) (Report, error) {
	var report Report
	home, err := os.MkdirTemp("", "inspector-")
	if err != nil {
		return report, fmt.Errorf("making a home for the Inspector: %w", err)
	}
	defer os.RemoveAll(home)
	session := inspectorSession{inspector: i, home: home, url: url, signIn: script.SignIn}
	var list struct {
		Tools []struct{ Name string }
	}
	if err := session.request(ctx, &list, "--method", "tools/list"); err != nil {
		return report, err
	}
	for _, tool := range list.Tools {
		report.Tools = append(report.Tools, tool.Name)
	}
	for _, call := range script.Calls {
		call.pause(ctx)
		report.Calls = append(report.Calls, session.call(ctx, call))
	}
	return report, nil
}

// inspectorSession is what the runs for one script share.
type inspectorSession struct {
	inspector
	home, url string
	signIn    *SignIn
}

func (i inspectorSession) call(ctx context.Context, call Call) CallReport {
	report := CallReport{Tool: call.Tool}
	arguments := string(call.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	err := i.request(ctx, &report.Result,
		"--method", "tools/call", "--tool-name", call.Tool, "--tool-args-json", arguments)
	// A result that says isError is printed like any other and then ends the program with a status of its own.
	if err != nil && len(report.Result) == 0 {
		report.Error = err.Error()
	}
	return report
}

// request makes one request; result gets the JSON-RPC result.
func (i inspectorSession) request(ctx context.Context, result any, options ...string) error {
	args := []string{i.program, "--cli", "--server-url", i.url, "--transport", "http", "--format", "json", "--quiet"}
	p := process{env: []string{"HOME=" + i.home}}
	if i.signIn != nil {
		p = i.attended(p)
		args = append(args, "--callback-url", CallbackURL(i.signIn.CallbackPort))
	}
	output, failure := p.run(ctx, i.node, append(append(args, i.options...), options...)...)
	if len(bytes.TrimSpace(output)) == 0 {
		return failure
	}
	var envelope struct{ Result json.RawMessage }
	if err := json.Unmarshal(output, &envelope); err != nil {
		return errors.Join(failure, fmt.Errorf("decoding what the Inspector printed: %w: %.300q", err, output))
	}
	if envelope.Result == nil {
		envelope.Result = output
	}
	return errors.Join(failure, json.Unmarshal(envelope.Result, result))
}

// attended gives the program a person: the Inspector signs in only where it may open a browser, and asks on the
// terminal before it wants more scopes. The browser that it opens is none; the person reads the URL that it prints,
// too. Tokens are kept in a file, since there is no keychain where tests run.
func (i inspectorSession) attended(p process) process {
	p.env = append(p.env, "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true", "MCP_INSPECTOR_SECRET_STORE=file")
	p.input = []byte("y\n")
	p.visit, p.asks = i.signIn.Visit, navigateLine
	return p
}

// navigateLine finds the URL that the Inspector asks to open.
func navigateLine(line []byte) string {
	_, url, _ := strings.Cut(string(line), "Please navigate to: ")
	return strings.TrimSpace(url)
}
