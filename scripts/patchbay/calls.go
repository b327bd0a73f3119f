package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/callpath"
	"patchbay/scripts/locallog"
	"patchbay/scripts/logview"
	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
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
		Short: "Show a request's path and its log lines, of gateway, dispatcher and tool, in order of time",
		Long: `The request id is what an answer names in its header x-amzn-requestid, an error message behind "request id",
and every log line in "requestId". Above the lines its path is drawn, with the times that they have: of a deployment
these come from several clocks, and are as exact as those.`,
		Example: "  patchbay calls 7d1f0f9e-… --since 3h --deployment shop-prod",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.since <= 0 || options.since > maxSince {
				return usageError{fmt.Errorf("--since %s; allowed: up to %s", options.since, maxSince)}
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
	if path, found := callpath.FromLog(id, call.Lines); found {
		logview.Draw(out, path, coloured(out))
		fmt.Fprintln(out)
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
			logview.Text(line.Message, id, indent))
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
