package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"patchbay/scripts/mcpcall"
	"patchbay/scripts/printable"
	"patchbay/shared/jsonrpc"
	ours "patchbay/shared/mcp"
	"patchbay/shared/nearest"
)

// codeCapability is the JSON-RPC code of a request that needs a client with more capabilities. Source: schema
// 2026-07-28, MISSING_REQUIRED_CLIENT_CAPABILITY.
const codeCapability = -32021

// toolCall is what the command line of `tool call` says.
type toolCall struct {
	endpoint

	arguments           []string
	key                 string
	dryRun, yes, asJSON bool
}

func toolCallCommand() *cobra.Command {
	var call toolCall
	command := &cobra.Command{
		Use:   "call NAME [ARGUMENTS]",
		Short: "Call a tool as an MCP client does",
		Long: `Calls a tool of the running local stack, or of any MCP server, with the official Go client in the newest
revision of the protocol. ARGUMENTS is a JSON object, @FILE with one, or - for standard input; --arg gives single
arguments, with the types that the tool's schema has for them.

The result is written to standard output: structured content as JSON, else text. Progress, and how long the call took,
are written to standard error. When the tool wants a person to confirm the call or to answer a question, it is asked in
the terminal. The exit code is 1 when the result is an error or the call is refused.`,
		Example: `  patchbay tool call get_weather --arg location=Oslo
  patchbay tool call execute_sql '{"region": "us-west1", "query": "SELECT 1"}' --json
  PATCHBAY_TOKEN=$(get-a-token) patchbay tool call get_weather @oslo.json --url https://mcp.example.com/mcp`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return call.run(cmd, args) },
	}
	call.flags(command)
	flags := command.Flags()
	flags.StringArrayVar(&call.arguments, "arg", nil, "one argument, NAME=VALUE; may be repeated")
	flags.StringVar(&call.key, "key", "", "an idempotency key: a repeat under the same key gets the first answer")
	flags.BoolVar(&call.dryRun, "dry-run", false, "only say what the call would do: sets the argument dryRun")
	flags.BoolVar(&call.yes, "yes", false, "confirm the call without asking")
	flags.BoolVar(&call.asJSON, "json", false, "write the whole result as the server sent it")
	command.ValidArgsFunction = completeFirst(completeTools(&call.root, "functions"))
	return command
}

// completeFirst completes the first argument alone.
func completeFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return complete(command, args, begun)
	}
}

func (t *toolCall) run(cmd *cobra.Command, args []string) error {
	object, given, err := t.read(cmd, args[1:])
	if err != nil {
		return usageError{err}
	}
	ctx := cmd.Context()
	client, err := t.connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer client.Close()
	tool, err := findTool(ctx, client, args[0])
	if err != nil {
		return err
	}
	if t.dryRun {
		if !mcpcall.Has(tool, "dryRun") {
			return usageError{fmt.Errorf("%s has no dry run: its schema has no parameter dryRun", tool.Name)}
		}
		given = append(given, mcpcall.Argument{Name: "dryRun", Value: "true"})
	}
	if object, err = mcpcall.Arguments(tool, object, given); err != nil {
		return usageError{err}
	}
	answer, err := client.Call(ctx, mcpcall.Call{
		Tool: tool.Name, Arguments: object, Key: t.key, Ask: t.asker(cmd, args[1:]),
		Progress: tellProgress(cmd.ErrOrStderr()),
	})
	if err != nil {
		return t.explain(tool.Name, err)
	}
	return t.show(cmd, tool.Name, answer)
}

// read reads the arguments as far as that needs no schema.
func (t *toolCall) read(cmd *cobra.Command, args []string) (json.RawMessage, []mcpcall.Argument, error) {
	var given []mcpcall.Argument
	for _, text := range t.arguments {
		argument, err := mcpcall.ParseArgument(text)
		if err != nil {
			return nil, nil, fmt.Errorf("--arg %w", err)
		}
		given = append(given, argument)
	}
	if len(args) == 0 {
		return nil, given, nil
	}
	text, what := []byte(args[0]), "the arguments"
	var err error
	switch {
	case args[0] == "-":
		what = "standard input"
		text, err = io.ReadAll(cmd.InOrStdin())
	case strings.HasPrefix(args[0], "@"):
		what = args[0][1:]
		text, err = os.ReadFile(what)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the arguments: %w", err)
	}
	if err := oneObject(text); err != nil {
		return nil, nil, fmt.Errorf("%s: %w; allowed: one JSON object. Single arguments are given by --arg NAME=VALUE",
			what, err)
	}
	return text, given, nil
}

// oneObject says why a text is not one JSON object. Members is only for what is valid JSON.
func oneObject(text []byte) error {
	if !json.Valid(text) {
		var value any
		return fmt.Errorf("not JSON: %w", json.Unmarshal(text, &value))
	}
	if _, err := jsonrpc.Members(text); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "Invalid request: "))
	}
	return nil
}

// findTool finds a tool in the server's list, and near names where there is none.
func findTool(ctx context.Context, client *mcpcall.Client, name string) (*mcp.Tool, error) {
	tools, err := client.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range tools {
		if tool.Name == name {
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	if near := nearest.Name(name, names); near != "" {
		return nil, fmt.Errorf("the server has no tool %s; did you mean %s?", name, near)
	}
	return nil, fmt.Errorf("the server lists no tool %s to this caller; it has: %s. Tools that ask for permissions are "+
		"listed to callers with an access token", name, strings.Join(names, ", "))
}

func tellProgress(w io.Writer) func(mcpcall.Progress) {
	return func(report mcpcall.Progress) {
		at := strconv.FormatFloat(report.Progress, 'g', -1, 64)
		if report.Total > 0 {
			at += " of " + strconv.FormatFloat(report.Total, 'g', -1, 64)
		}
		if report.Message != "" {
			at += ": " + report.Message
		}
		fmt.Fprintln(w, "progress", printable.Line(at))
	}
}

// explain says what helps against a refusal.
func (t *toolCall) explain(tool string, err error) error {
	var refusal *mcpcall.Refusal
	if !errors.As(err, &refusal) {
		return fmt.Errorf("calling %s: %w", tool, err)
	}
	switch {
	case refusal.Code == codeCapability:
		err = fmt.Errorf("%w; a person has to be asked: call it in a terminal, or confirm it by --yes", err)
	case refusal.Challenge.Error == "insufficient_user_authentication":
		err = fmt.Errorf("%w; a person has to sign in again for an access token in the variable %s", err, t.tokenEnv)
	case refusal.Challenge.Scope != "":
		err = fmt.Errorf("%w; get an access token with these scopes and put it into the variable %s", err, t.tokenEnv)
	case refusal.RequestID != "":
		err = fmt.Errorf("%w; `patchbay calls %s` shows its log", err, refusal.RequestID)
	}
	return fmt.Errorf("calling %s: %w", tool, err)
}

// show writes the result.
func (t *toolCall) show(cmd *cobra.Command, tool string, answer mcpcall.Answer) error {
	out := cmd.OutOrStdout()
	var err error
	switch {
	case t.asJSON:
		_, err = out.Write(append(printable.JSON(indented(answer.Result)), '\n'))
	case !answer.IsError:
		_, err = io.WriteString(out, resultText(answer))
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), printable.Line(callFacts(answer)))
	if !answer.IsError {
		return nil
	}
	text := strings.TrimSpace(answer.Text)
	if answer.Failure != "" {
		text = answer.Failure + ": " + text
	}
	return fmt.Errorf("%s answers with an error: %s", tool, text)
}

// callFacts are what is worth knowing of a call beside its result.
func callFacts(answer mcpcall.Answer) string {
	facts := fmt.Sprintf("%d ms, %d bytes", answer.Duration.Milliseconds(), len(answer.Result))
	if answer.Has(ours.MetaReplayed) {
		facts += ", the recorded answer of an earlier call"
	}
	if answer.Has(ours.MetaDryRun) {
		facts += ", a dry run"
	}
	if answer.RequestID != "" {
		facts += ", request " + answer.RequestID
	}
	return facts
}

// resultText is a result for people: the text, unless it only repeats the structured content, and that.
func resultText(answer mcpcall.Answer) string {
	var text strings.Builder
	for _, raw := range answer.Content {
		var block struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MimeType string `json:"mimeType"`
			URI      string `json:"uri"`
		}
		switch err := json.Unmarshal(raw, &block); {
		case err != nil:
		case block.Type != "text":
			kind := strings.TrimSpace(block.Type + " " + block.MimeType + " " + block.URI)
			fmt.Fprintln(&text, printable.Line(fmt.Sprintf("[%s] %d bytes; --json shows it", kind, len(raw))))
		case !sameJSON([]byte(block.Text), answer.Structured):
			fmt.Fprintln(&text, printable.Lines(strings.TrimSuffix(block.Text, "\n"), ""))
		}
	}
	if answer.Structured != nil {
		fmt.Fprintf(&text, "%s\n", printable.JSON(indented(answer.Structured)))
	}
	return text.String()
}

func sameJSON(a, b []byte) bool {
	var left, right bytes.Buffer
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}

func indented(text json.RawMessage) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return text
	}
	return out.Bytes()
}

// asker is whoever answers what the server asks: --yes, or the person at the terminal; nil where there is neither, or
// standard input is read for the arguments.
func (t *toolCall) asker(
	cmd *cobra.Command, args []string,
) func(context.Context, mcpcall.Question) (mcpcall.Reply, error) {
	in := cmd.InOrStdin()
	file, isFile := in.(*os.File)
	terminal := isFile && isatty.IsTerminal(file.Fd()) && !slices.Contains(args, "-")
	if !terminal && !t.yes {
		return nil
	}
	lines := bufio.NewReader(in)
	return func(_ context.Context, question mcpcall.Question) (mcpcall.Reply, error) {
		fmt.Fprintln(cmd.ErrOrStderr(), printable.Lines(strings.TrimSpace(question.Message), ""))
		if t.yes && question.IsConfirmation() {
			return mcpcall.Confirm(), nil
		}
		if !terminal {
			return mcpcall.Reply{}, errors.New("the tool asks for more than a confirmation; call it in a terminal")
		}
		return (&form{in: lines, out: cmd.ErrOrStderr()}).fill(question)
	}
}

// form asks for the values of a question's form, line by line.
type form struct {
	in  *bufio.Reader
	out io.Writer
}

// formField is one value of a form. Source: client/elicitation#requested-schema.
type formField struct {
	Type        json.RawMessage `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	Default     json.RawMessage `json:"default"`
}

func (f *form) fill(question mcpcall.Question) (mcpcall.Reply, error) {
	if question.URL != "" {
		return f.visit(question.URL)
	}
	if question.IsConfirmation() {
		agreed, err := f.agrees("Let it run? (yes/no) ")
		if err != nil || !agreed {
			return mcpcall.Reply{Action: mcpcall.Decline}, err
		}
		return mcpcall.Confirm(), nil
	}
	var schema struct {
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required"`
	}
	if err := json.Unmarshal(question.Schema, &schema); err != nil {
		return mcpcall.Reply{}, fmt.Errorf("decoding the form that the server asks for: %w", err)
	}
	content := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		value, given, err := f.value(name, schema.Properties[name])
		if err != nil {
			return mcpcall.Reply{}, err
		}
		if given {
			content[name] = value
		} else if slices.Contains(schema.Required, name) && schema.Properties[name].Default == nil {
			return mcpcall.Reply{Action: mcpcall.Cancel}, nil // whoever leaves out what is required, wants out
		}
	}
	return mcpcall.Reply{Action: mcpcall.Accept, Content: content}, nil
}

func (f *form) visit(url string) (mcpcall.Reply, error) {
	fmt.Fprintln(f.out, "Open this page, and answer there:", printable.Line(url))
	agreed, err := f.agrees("Is it done? (yes/no) ")
	if err != nil || !agreed {
		return mcpcall.Reply{Action: mcpcall.Decline}, err
	}
	return mcpcall.Reply{Action: mcpcall.Accept}, nil
}

func (f *form) agrees(prompt string) (bool, error) {
	line, err := f.line(prompt)
	return strings.EqualFold(line, "yes") || strings.EqualFold(line, "y"), err
}

// line asks for a line; the end of the input is an empty one.
func (f *form) line(prompt string) (string, error) {
	fmt.Fprint(f.out, prompt)
	line, err := f.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// value asks for one value until it is of the field's type; nothing leaves it out.
func (f *form) value(name string, field formField) (value any, given bool, err error) {
	what := name
	if field.Description != "" {
		what += ": " + field.Description
	}
	if len(field.Enum) > 0 {
		what += " (" + strings.Join(field.Enum, ", ") + ")"
	}
	if field.Default != nil {
		what += " [" + string(field.Default) + "]"
	}
	for {
		line, err := f.line(printable.Line(what) + "\n> ")
		if err != nil || line == "" {
			return nil, false, err
		}
		if string(field.Type) == `"string"` && (len(field.Enum) == 0 || slices.Contains(field.Enum, line)) {
			return line, true, nil
		}
		if string(field.Type) != `"string"` && json.Unmarshal([]byte(line), &value) == nil {
			return value, true, nil
		}
		fmt.Fprintf(f.out, "allowed: a value of type %s; an empty line leaves it out\n", printable.Line(string(field.Type)))
	}
}
