package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"patchbay/scripts/costmodel"
)

// shownCost is the cost as scripts read it.
type shownCost struct {
	Region  string          `json:"region"`
	AsOf    string          `json:"asOf"`
	Calls   []costmodel.Row `json:"millionCalls"`
	Further []costmodel.Row `json:"onTop"`
	Monthly []costmodel.Row `json:"month"`
	OnTop   []costmodel.Row `json:"monthOnTop"`
}

func costCommand() *cobra.Command {
	work := costmodel.Typical()
	var figures string
	var prices, asJSON bool
	command := &cobra.Command{
		Use:   "cost",
		Short: "Say what calls cost on AWS, from given or measured durations",
		Long: fmt.Sprintf(`Multiplies the prices of %s, %s, by what a call does, and prints tables in Markdown. The durations
are flags: those of your tools are in the REPORT lines of their logs, as Billed Duration. --figures takes the
dispatcher's and the authorizer's part from what ./scripts/bench --json measured. Free tiers, storage and what AWS
charges for a cold start beside its duration are left out.`, costmodel.Region, costmodel.AsOf),
		Example: "  patchbay cost --tool-ms 250 --tool-mb 512\n  patchbay cost --figures bench.json --prices",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if figures != "" {
				data, err := os.ReadFile(figures)
				if err != nil {
					return fmt.Errorf("reading the figures of bench: %w", err)
				}
				if work.OverheadMS, err = costmodel.Overhead(data); err != nil {
					return err
				}
				measured, err := costmodel.Authorizer(data)
				if err != nil {
					return err
				}
				if measured > 0 && !cmd.Flags().Changed("authorizer-ms") {
					work.AuthorizerMS = measured
				}
			}
			if err := work.Check(); err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), shownCost{
					costmodel.Region, costmodel.AsOf, work.Calls(), work.Further(), work.Monthly(), work.MonthlyFurther(),
				})
			}
			text := work.Markdown()
			if prices {
				text += "\n" + costmodel.PricesMarkdown()
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	flags := command.Flags()
	flags.Float64Var(&work.ToolMS, "tool-ms", work.ToolMS, "the tool's billed duration")
	flags.Float64Var(&work.ToolMB, "tool-mb", work.ToolMB, "the tool's memory")
	flags.Float64Var(&work.OverheadMS, "overhead-ms", work.OverheadMS, "how long the dispatcher runs beside the tool")
	flags.Float64Var(&work.DispatcherMB, "dispatcher-mb", work.DispatcherMB, "the dispatcher's memory")
	flags.Float64Var(&work.AuthorizerMS, "authorizer-ms", work.AuthorizerMS, "the authorizer's billed duration, whole "+
		"milliseconds")
	flags.Float64Var(&work.AuthorizerMB, "authorizer-mb", work.AuthorizerMB, "the authorizer's memory")
	flags.StringVar(&figures, "figures", "", "a file of ./scripts/bench --json, for --overhead-ms and --authorizer-ms")
	flags.Float64Var(&work.ResultKB, "result-kb", work.ResultKB, "the size of a recorded result, compressed")
	flags.Float64Var(&work.LogKB, "log-kb", work.LogKB, "what a call leaves in the logs")
	flags.Float64Var(&work.AnswerKB, "answer-kb", work.AnswerKB, "the size of an answer")
	flags.Float64Var(&work.Tools, "tools", work.Tools, "how many tools there are")
	flags.Float64Var(&work.Alarms, "alarms", work.Alarms, "how many alarms there are")
	flags.Float64Var(&work.Secrets, "secrets", work.Secrets, "how many secrets there are in Secrets Manager")
	flags.BoolVar(&prices, "prices", false, "print the prices too")
	flags.BoolVar(&asJSON, "json", false, "write JSON")
	command.MarkFlagsMutuallyExclusive("figures", "overhead-ms")
	return command
}
