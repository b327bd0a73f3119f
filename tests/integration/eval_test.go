package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/scripts/evaluate"
)

// ran is what a command wrote, and its exit code.
type ran struct {
	out, errors string
	code        int
}

// patchbay runs the program that people run, with a token where it is not empty.
func patchbay(t *testing.T, token, stdin string, args ...string) ran {
	t.Helper()
	return runAs(t, token, stdin, program(t), args...)
}

func runAs(t *testing.T, token, stdin, name string, args ...string) ran {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), "PATCHBAY_TOKEN="+token)
	command.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{out.String(), errOut.String(), command.ProcessState.ExitCode()}
}

// Every example tool has recorded calls, and what comes back is what was written down: of all of them for who may call
// them, and without a token of those that everybody may call.
func TestExamplesAnswerAsRecorded(t *testing.T) {
	t.Parallel()
	contracts, err := filepath.Glob(filepath.Join(root, "functions", "*", "tool.json"))
	if err != nil || len(contracts) == 0 {
		t.Fatalf("no example tools: %v", err)
	}
	for name, test := range map[string]struct {
		url, token string
		skipped    []string
	}{
		"everybody": {examples.URL, "", []string{"contacts_search", "emails.bulk_send", "emails.send_external"}},
		"permitted": {known.URL, recorded, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := patchbay(t, test.token, "", "tool", "eval", "--json", "--writes", "--url", test.url)
			var report evaluate.Report
			if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != 0 {
				t.Fatalf("exit code %d, %v\n%s%s", got.code, err, got.out, got.errors)
			}
			if len(report.Tools) != len(contracts) {
				t.Errorf("%d of %d example tools have recorded calls", len(report.Tools), len(contracts))
			}
			for _, tool := range report.Tools {
				skipped := slices.Contains(test.skipped, tool.Tool)
				if skipped != (tool.Skipped > 0) || skipped != (tool.Passed == 0) {
					t.Errorf("%s: %d cases passed, %d were skipped", tool.Tool, tool.Passed, tool.Skipped)
				}
				if tool.Passed > 0 && (tool.Calls < tool.Passed || tool.LargestResult == 0 || tool.Millis == 0) {
					t.Errorf("%s: reported as %+v", tool.Tool, tool)
				}
			}
		})
	}
}

// What differs is told with its line, and nothing that writes is called where others may use the server.
func TestRecordedCallsThatDiffer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "calls.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("tool: get_weather\ncases:\n- name: Rome is in Norway\n  arguments: { location: Rome }\n" +
		"  expect: { result: { location: 'Rome, Norway' } }\n- name: baskets\n  tool: create_basket\n")
	got := patchbay(t, "", "", "tool", "eval", file, "--url", examples.URL, "--junit", file+".xml")
	for _, want := range []string{
		"failed   get_weather: Rome is in Norway\n", ":3 get_weather: result/location: \"Rome, ", "want \"Rome, Norway\"",
		"skipped  get_weather: baskets\n", "create_basket does not say that it only reads",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("does not say %q:\n%s", want, got.out)
		}
	}
	if got.code != 1 || !strings.Contains(got.errors, "1 of 2 cases failed") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
	if junit, err := os.ReadFile(file + ".xml"); err != nil || !bytes.Contains(junit, []byte("<failure message=")) {
		t.Errorf("JUnit's report is %s, %v", junit, err)
	}
	write("tool: get_weather\ncases:\n- name: a\n  arguments: 1\n  expects: {}\n")
	got = patchbay(t, "", "", "tool", "eval", file, "--url", "http://127.0.0.1:1/mcp")
	if got.code != 1 || !strings.Contains(got.errors, "calls.yaml:4: arguments is a mapping") ||
		!strings.Contains(got.errors, "calls.yaml:5: ") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
	got = patchbay(t, "", "", "tool", "eval", "get_wether")
	if got.code != 2 || !strings.Contains(got.errors, "get_wether: no such file") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
}

func TestToolCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "oslo.json")
	if err := os.WriteFile(file, []byte(`{"location": "Oslo"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args  []string
		stdin string
		code  int
		// out is a part of standard output; "" that nothing is there. says is a part of standard error.
		out, says string
	}{
		"arguments": {
			[]string{"get_weather", `{"location":"Oslo"}`}, "", 0, `"location": "Oslo, Norway"`, " bytes, request ",
		},
		"one argument": {
			[]string{"get_weather", "--arg", "location=94105"}, "", 0, "San Francisco", " bytes",
		},
		"a file":         {[]string{"get_weather", "@" + file}, "", 0, "Oslo, Norway", " bytes"},
		"standard input": {[]string{"get_weather", "-"}, `{"location":"Oslo"}`, 0, "Oslo, Norway", " bytes"},
		"mirrored": {
			[]string{"execute_sql", "--arg", "region=us-west1", "--arg", "query=SELECT 41+1 AS n"}, "", 0, "42", " bytes",
		},
		"the whole result": {
			[]string{"get_weather", "--arg", "location=Oslo", "--json"}, "", 0, `"resultType": "complete"`, " bytes",
		},
		"a tool error": {
			[]string{"get_weather", "--arg", "location=Osslo"}, "", 1, "",
			"get_weather answers with an error: unknown_location: No place named \"Osslo\" is known here. Did you mean Oslo?",
		},
		"wrong values": {
			[]string{"convert_units", `{"value":1,"source":"lightyear","target":"km"}`}, "", 1, "", `"lightyear" is not allowed`,
		},
		"a misspelt tool":      {[]string{"get_wether"}, "", 1, "", "did you mean get_weather?"},
		"a tool of the others": {[]string{"contacts_search"}, "", 1, "", "lists no tool contacts_search to this caller"},
		"a misspelt parameter": {[]string{"get_weather", "--arg", "locaton=x"}, "", 2, "", "did you mean location?"},
		"no parameter":         {[]string{"create_basket", "--arg", "x=1"}, "", 2, "", "it takes no arguments"},
		"no argument":          {[]string{"get_weather", "--arg", "Oslo"}, "", 2, "", "allowed: NAME=VALUE"},
		"a wrong type":         {[]string{"convert_units", "--arg", "value=much"}, "", 2, "", "is of type number"},
		"no object":            {[]string{"get_weather", `["Oslo"]`}, "", 2, "", "allowed: one JSON object"},
		"a key twice":          {[]string{"get_weather", `{"location":"a","location":"b"}`}, "", 2, "", "location"},
		"no dry run":           {[]string{"get_weather", "--dry-run"}, "", 2, "", "get_weather has no dry run"},
		"no token":             {[]string{"get_weather", "--token-env", "PATCHBAY_NOTHING"}, "", 2, "", "PATCHBAY_NOTHING"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := patchbay(t, "", test.stdin, append([]string{"tool", "call", "--url", examples.URL}, test.args...)...)
			if got.code != test.code || !strings.Contains(got.errors, test.says) || !strings.Contains(got.out, test.out) ||
				test.out == "" && got.out != "" {
				t.Errorf("exit code %d\n%s%s\nwant %d, %s, %s", got.code, got.out, got.errors, test.code, test.out, test.says)
			}
		})
	}
}

// A call that needs a person is confirmed by --yes alone where there is no terminal, and progress goes to standard
// error.
func TestToolCallWithAPerson(t *testing.T) {
	t.Parallel()
	bulk := []string{"tool", "call", "emails.bulk_send", "--url", known.URL,
		`{"templateId":"tmpl_newsletter_q3","segmentId":"seg_former_customers"}`}
	send := []string{"tool", "call", "emails.send_external", "--url", known.URL, "--key", "call-" + t.Name(),
		`{"to":"ada@example.com","subject":"Called","body":"Hello"}`}
	for _, step := range []struct {
		args      []string
		code      int
		out, says string
	}{
		{send, 1, "", "confirm it by --yes"},
		{append(send, "--yes"), 0, "ada@example.com", "Let \"Send an e-mail\" run?"},
		{append(send, "--yes"), 0, "ada@example.com", "the recorded answer of an earlier call"},
		{append(bulk, "--yes"), 1, "", "only after a dry run"},
		{append(bulk, "--dry-run"), 0, `"dryRun": true`, "a dry run"},
	} {
		got := patchbay(t, sender, "", step.args...)
		if got.code != step.code || !strings.Contains(got.out, step.out) || !strings.Contains(got.errors, step.says) {
			t.Errorf("%q: exit code %d\n%s%s\nwant %d, %s, %s", step.args, got.code, got.out, got.errors, step.code, step.out,
				step.says)
		}
	}
	got := patchbay(t, "", "", "tool", "call", "get_weather", "--url", known.URL)
	if got.code != 1 || !strings.Contains(got.errors, "put an access token into the variable PATCHBAY_TOKEN") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
	got = patchbay(t, reader, "", append(send, "--yes")...)
	if got.code != 1 || !strings.Contains(got.errors, "emails:send") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
}

// onTerminal runs a program on a terminal of its own.
const onTerminal = `import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))`

// At a terminal the person is asked: whether the call may run, and what the tool wants to know.
func TestToolCallAtATerminal(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	send := []string{"emails.send_external", `{"to":"ada@example.com","subject":"Asked","body":"Hello"}`}
	for name, test := range map[string]struct {
		server *server
		args   []string
		typed  string
		code   int
		says   []string
	}{
		"yes": {known, send, "yes\n", 0, []string{"Let it run? (yes/no)", "acceptedRecipients"}},
		"no":  {known, send, "no\n", 1, []string{"Let it run? (yes/no)", "The user declined"}},
		"a form": {
			fixtures, []string{"test_input_required_result_elicitation"}, "Ada\n", 0,
			[]string{"What is your name?", "Hello, Ada!"},
		},
		"nothing": {
			fixtures, []string{"test_input_required_result_elicitation"}, "\n", 0, []string{"Hello, whoever you are!"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"-c", onTerminal, program(t), "tool", "call", "--url", test.server.URL}, test.args...)
			got := runAs(t, sender, test.typed, python, args...)
			for _, want := range test.says {
				if !strings.Contains(got.out, want) {
					t.Errorf("does not say %q:\n%s%s", want, got.out, got.errors)
				}
			}
			if got.code != test.code {
				t.Errorf("exit code %d, want %d:\n%s", got.code, test.code, got.out)
			}
		})
	}
}

// The list has what callers do not see, of a catalogue and of a folder.
func TestToolList(t *testing.T) {
	t.Parallel()
	catalogue := patchbay(t, "", "", "tool", "list", "--data", dataOf("examples"), "--category", "e-mail", "--json")
	folder := patchbay(t, "", "", "tool", "list", "--functions", filepath.Join(root, "functions"), "--risk", "critical",
		"--json")
	for name, got := range map[string]ran{"catalogue": catalogue, "folder": folder} {
		var list struct {
			Estimator string
			Tools     []struct {
				Name, Risk, Function, Source string
				Permissions                  []string
				Tokens                       int
			}
		}
		if err := json.Unmarshal([]byte(got.out), &list); err != nil || got.code != 0 {
			t.Fatalf("%s: exit code %d, %v: %s", name, got.code, err, got.errors)
		}
		if len(list.Tools) != 2 || list.Tools[0].Name != "emails.bulk_send" ||
			list.Tools[0].Permissions[0] != "emails:bulk" || list.Tools[1].Risk != "critical" ||
			list.Tools[1].Tokens < 100 || list.Estimator == "" {
			t.Errorf("%s: %s", name, got.out)
		}
		if published := list.Tools[0].Function != "" && list.Tools[0].Source == "local"; published != (name == "catalogue") {
			t.Errorf("%s: %+v", name, list.Tools[0])
		}
	}
	for args, says := range map[string]string{
		"--risk extreme": "allowed: low, medium, high, critical, forbidden", "--category x": "there are: baskets, ",
	} {
		got := patchbay(t, "", "", append([]string{"tool", "list", "--data", dataOf("examples")}, strings.Fields(args)...)...)
		if got.code == 0 || !strings.Contains(got.errors, says) {
			t.Errorf("%s: exit code %d: %s", args, got.code, got.errors)
		}
	}
}
