package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// every visits all commands below one, except what cobra adds itself.
func every(command *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range command.Commands() {
		if sub.Name() == "help" {
			continue
		}
		visit(sub)
		every(sub, visit)
	}
}

func run(args ...string) (string, error) {
	var out bytes.Buffer
	root := command()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.Execute()
	return out.String(), err
}

// The help of every command has an example that is a command line of it, in terms of flags that it has.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	every(command(), func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q; want one without a full stop", c.CommandPath(), c.Short)
		}
		if c.HasSubCommands() && c.Name() != "completion" {
			return
		}
		if !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: example %q does not call it", c.CommandPath(), c.Example)
		}
		for _, word := range strings.Fields(c.Example) {
			if match := flag.FindStringSubmatch(word); match != nil && !hasFlag(c, match[1]) {
				t.Errorf("%s: its example has --%s, which it does not know", c.CommandPath(), match[1])
			}
		}
	})
}

// A command line that is wrong is refused with what is allowed and with exit code 2, before anything is begun.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"loca":                   "did you mean local?",
		"nothing-like-it":        "allowed: bench, ",
		"tool lst":               "did you mean lint or list?",
		"tool nothing-like-it":   "allowed: call, ",
		"smoke":                  "the number of arguments is 0; usage: patchbay smoke URL",
		"smoke http://x --bogus": "unknown flag: --bogus; `patchbay smoke --help` tells its flags",
		"version now":            `"now": patchbay version takes no arguments`,
		"local --addr --auth":    "--addr has no value: behind it stands --auth",
		"local --cache-ttl soon": `invalid argument "soon" for "--cache-ttl" flag`,
		"completion tcsh":        "did you mean bash",
	} {
		out, err := run(strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), says) || exitCode(err) != exitUsage {
			t.Errorf("patchbay %s: %v, exit code %d; want %s and exit code %d", line, err, exitCode(err), says, exitUsage)
		}
		if out != "" {
			t.Errorf("patchbay %s wrote %s", line, out)
		}
	}
}

// A group alone shows what it holds.
func TestGroupsShowTheirHelp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "tool", "catalogue", "completion"} {
		out, err := run(strings.Fields(line)...)
		if err != nil || !strings.Contains(out, "Available Commands:") {
			t.Errorf("patchbay %s: %v, %s", line, err, out)
		}
	}
}

// The shells themselves take the scripts.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, write := range map[string]func(*cobra.Command, io.Writer) error{
		"bash": func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
		"zsh":  (*cobra.Command).GenZshCompletion,
	} {
		var script bytes.Buffer
		if err := write(command(), &script); err != nil || script.Len() < 1000 {
			t.Errorf("completion %s: %v, %d bytes", shell, err, script.Len())
		}
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not installed: its script is not read by it", shell)
			continue
		}
		check := exec.CommandContext(t.Context(), shell, "-n")
		check.Stdin = &script
		if told, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v: %s", shell, err, told)
		}
	}
}

// What a shell is told of tools is what the functions folder has, by the names that calls take, less what the line
// names already.
func TestToolNamesAreCompleted(t *testing.T) {
	t.Parallel()
	root := "../.."
	names, _ := completeTools(&root, "functions")(&cobra.Command{}, []string{"execute_sql"}, "")
	all := strings.Join(names, " ")
	if !strings.Contains(all, "get_weather") || !strings.Contains(all, "emails.bulk_send") ||
		strings.Contains(all, "execute_sql") {
		t.Errorf("completed: %s", all)
	}
}
