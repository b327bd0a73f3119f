package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"patchbay/scripts/benchmark"
)

func benchCommand() *cobra.Command {
	var (
		options benchmark.Options
		file    string
		root    string
		check   bool
	)
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure what Patchbay costs, each figure beside its anchor",
		Long: `Measures (a) the dispatcher's handler against the official Go SDK's, (b) warm calls on the local stack
against two bare Lambda hops, (c) process start to first answer against a bare function, (d) binary sizes, (e) calls and
lists with 10, 1,000 and 10,000 tools, (f) what the rules of a contract add to a call, with the requests to DynamoDB
that they make, (g) the templates of a deployment with 10 and 300 tools, (h) what asking for access tokens adds to a
call, (i) the time from a save to a call that shows it, while the local stack watches. What is compared is measured in
turns, so that whatever else the machine does hits both.
A missed goal does not change the exit status, unless --check is given.`,
		Example: "  patchbay bench --json bench.json\n  patchbay bench --short --parts ad",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Module, err = moduleRoot(root); err != nil {
				return err
			}
			options.Progress = cmd.ErrOrStderr()
			report, err := benchmark.Run(cmd.Context(), options)
			if err != nil {
				return err
			}
			return finishBench(report, cmd.OutOrStdout(), file, check)
		},
	}
	flags := command.Flags()
	flags.StringVar(&file, "json", "", "a file that gets all figures")
	flags.BoolVar(&options.Short, "short", false, "measure fewer rounds: less than two minutes, rougher figures")
	flags.StringVar(&options.Parts, "parts", "", "the letters of the parts to measure (default abcdefghij)")
	rootFlag(command, &root)
	flags.BoolVar(&check, "check", false, "fail when a goal is missed")
	return command
}

func finishBench(report *benchmark.Report, out io.Writer, file string, check bool) error {
	if err := report.WriteTable(out); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	if file != "" {
		data, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the figures: %w", err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			return fmt.Errorf("writing the figures: %w", err)
		}
	}
	if missed := report.Missed(); check && len(missed) > 0 {
		return fmt.Errorf("%d goals are missed, the first by %q", len(missed), missed[0].What)
	}
	return nil
}
