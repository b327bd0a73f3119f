package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"patchbay/dispatcher/registrar/order"
)

const aContract = `{"name":"lookup","description":"Looks somebody up by name.","inputSchema":{"type":"object",` +
	`"properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true},` +
	`"contract":{"function":{"arn":"local:lookup","payload":"envelope"}}}`

func contractIn(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tool.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A command line that is wrong is told before anything is asked of anybody; contracts that are wrong are not the
// command's fault.
func TestWrongPublishes(t *testing.T) {
	t.Parallel()
	file := contractIn(t, aContract)
	other := contractIn(t, strings.ReplaceAll(aContract, "lookup", "search"))
	for _, test := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{}, "the number of arguments is 0", exitUsage},
		{[]string{file}, "--source is missing", exitUsage},
		{[]string{file, "--source", "Shop"}, `--source: source "Shop"; allowed: 1 to 63 of a-z 0-9 -`, exitUsage},
		{[]string{file, "--source", "local"}, "take another name", exitUsage},
		{[]string{file, "--source", "shop", "--json"}, "give --dry-run or --yes with it", exitUsage},
		{[]string{file, other, "--source", "shop", "--function", "arn"}, "allowed with 2 tools: NAME=ARN", exitUsage},
		{[]string{file, "--source", "shop", "--function", "lokup=arn"}, "did you mean lookup?", exitUsage},
		{[]string{file, "--source", "shop", "--function", "a", "--function", "b"}, "there twice for lookup", exitUsage},
		{[]string{t.TempDir(), "--source", "shop"}, "has no tool.json", exitFailed},
		{[]string{contractIn(t, `{"name":"a"}`), "--source", "shop"}, "description-missing", exitFailed},
		{[]string{file, "--source", "shop", "--deployment", "shop-prod"}, "--function lookup=ARN", exitFailed},
	} {
		out, err := run(append([]string{"tool", "publish"}, test.args...)...)
		if err == nil || !strings.Contains(err.Error(), test.says) || exitCode(err) != test.code {
			t.Errorf("%v: %v, exit code %d; want %q and exit code %d", test.args, err, exitCode(err), test.says, test.code)
		}
		if out != "" {
			t.Errorf("%v wrote %s", test.args, out)
		}
	}
}

// What others have published acts on no terminal, and colours are for terminals alone.
func TestPlanIsPrintable(t *testing.T) {
	t.Parallel()
	before := &order.State{Function: "arn:a:1", Definition: []byte(`{"title":"old \u001b[2J & <b>"}`),
		Contract: []byte(`{}`)}
	after := &order.State{Function: "arn:a:2", Definition: []byte("{\"title\":\"new \u009b31m\"}"), Contract: []byte(`{}`)}
	var out strings.Builder
	err := writePlan(&out, "local", "shop", order.Answer{
		Live: "S1", Kept: []string{"x", "y"}, Warnings: []string{"w\x1b[31m"},
		Changes: []order.Change{
			{Name: "gone", Before: &order.State{Function: "arn:g:1"}}, {Name: "lookup", Before: before, After: after},
		},
	}, map[string]string{"lookup": "lookup/tool.json"})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"source shop of local, which serves snapshot S1\n- gone  arn:g:1\n~ lookup  arn:a:2\n--- published\n" +
			"+++ lookup/tool.json\n",
		`-  "function": "arn:a:1",` + "\n", `& <b>`, `\u{9b}31m`, "as before: x, y\nwarning: w\\u{1b}[31m\n",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the plan does not have %q:\n%s", part, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b") {
		t.Errorf("the plan acts on a terminal: %q", out.String())
	}
	coloured := planWriter{Writer: &out, coloured: true}
	coloured.line("+ new")
	if !strings.HasSuffix(out.String(), "\x1b[32m+ new\x1b[m\n") {
		t.Errorf("coloured: %q", out.String())
	}
}
