package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/locallog"
	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/registry"
)

// maxSince is how far back a search may go at all: CloudWatch Logs bills and takes its time by the bytes that it reads.
const maxSince = 30 * 24 * time.Hour

// callsOptions say what is searched and how it is written.
type callsOptions struct {
	since  time.Duration
	tool   string
	asJSON bool
}

func callsCommand() *cobra.Command {
	var at where
	var options callsOptions
	command := &cobra.Command{
		Use:   "calls REQUEST_ID",
		Short: "Show a request's log lines, of gateway, dispatcher and tool, in order of time",
		Long: `The request id is what an answer names in its header x-amzn-requestid, an error message behind "request id",
and every log line in "requestId".`,
		Example: "  patchbay calls 7d1f0f9e-… --since 3h --deployment shop-prod",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.since <= 0 || options.since > maxSince {
				return fmt.Errorf("--since %s; allowed: up to %s", options.since, maxSince)
			}
			act := operate.Act{Lever: "calls", On: args[0]}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, _ *operate.Act) error {
				call, err := options.find(ctx, target, args[0])
				if err != nil {
					return err
				}
				return options.write(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], call)
			})
		},
	}
	at.flags(command)
	flags := command.Flags()
	flags.DurationVar(&options.since, "since", time.Hour, "how far back the request may lie")
	flags.StringVar(&options.tool, "tool", "", "a tool whose log is searched too, when the dispatcher's names none")
	flags.BoolVar(&options.asJSON, "json", false, "write JSON")
	return command
}

func (o callsOptions) find(ctx context.Context, target *operate.Target, id string) (operate.Call, error) {
	function := ""
	if o.tool != "" {
		reader := registry.NewReader(target.DB, target.Tables.Registry, registry.ReaderOptions{})
		entry, err := reader.Lookup(ctx, o.tool)
		if err != nil {
			return operate.Call{}, fmt.Errorf("looking for the function of %s: %w", o.tool, err)
		}
		function = entry.Function
	}
	return target.Call(ctx, id, o.since, function)
}

func (o callsOptions) write(out, errOut io.Writer, id string, call operate.Call) error {
	for _, note := range call.Notes {
		fmt.Fprintln(errOut, "note:", printable.Line(note))
	}
	if len(call.Lines) == 0 {
		return fmt.Errorf("no line of %s within the last %s; look further back with --since", id, o.since)
	}
	if o.asJSON {
		return writeJSON(out, call.Lines)
	}
	lines := slices.DeleteFunc(call.Lines, isMetrics)
	width := 0
	for _, line := range lines {
		width = max(width, len(writer(line)))
	}
	const timeFormat = "2006-01-02 15:04:05.000"
	// A message of several lines stays in its column, so that none of them passes for one of another writer.
	indent := strings.Repeat(" ", len(timeFormat)+width+4)
	var failures []error
	for _, line := range lines {
		_, err := fmt.Fprintf(out, "%s  %-*s  %s\n", line.Time.UTC().Format(timeFormat), width, writer(line),
			readable(line.Message, id, indent))
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// isMetrics tells lines in the embedded metric format, which are for CloudWatch and say nothing that the call's own
// line does not.
func isMetrics(line locallog.Line) bool { return strings.HasPrefix(line.Message, `{"_aws":`) }

// writer is the short name of who wrote a line.
func writer(line locallog.Line) string {
	if strings.HasPrefix(line.Group, "/aws/apigateway/") {
		return "gateway"
	}
	return printable.Line(path.Base(line.Group))
}

// readable writes a line of JSON as its message and name=value; any other line stays as it is, as far as it prints.
// Left out is what every line of the call says: the time, and the request's id.
//
// Clients and tools have their say in both, and anybody may be a client.
func readable(message, id, indent string) string {
	if !json.Valid([]byte(message)) {
		return printable.Lines(message, indent)
	}
	members, err := jsonrpc.Members(json.RawMessage(message))
	if err != nil {
		return printable.Lines(message, indent)
	}
	var text string
	var rest []string
	for _, member := range members {
		value := bare(member.Value)
		switch {
		case member.Key == "time", member.Key == "requestId" && value == id, member.Key == "level" && value == "INFO":
		case member.Key == "msg":
			text = title(member.Value)
		default:
			rest = append(rest, name(member.Key)+"="+value)
		}
	}
	return strings.TrimSpace(text + " " + strings.Join(rest, " "))
}

// bare leaves the quotes off a string that needs none.
func bare(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return printable.Word(text)
	}
	return inOneLine(value)
}

// name is a member's name, quoted where it would not end at the equals sign behind it.
func name(key string) string {
	if strings.Contains(key, "=") {
		return strconv.Quote(key)
	}
	return printable.Word(key)
}

// title is a message, quoted where it would pass for the name=value behind it.
func title(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil || value[0] != '"' {
		return inOneLine(value)
	}
	if strings.ContainsAny(text, `="`) || printable.Line(text) != text {
		return strconv.Quote(text)
	}
	return text
}
