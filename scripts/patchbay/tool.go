package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"patchbay/scripts/operate"
	"patchbay/shared/nearest"
	"patchbay/shared/registry"
)

func toolCommand() *cobra.Command {
	var at where
	command := &cobra.Command{
		Use:   "tool",
		Short: "Write, check, call, publish and switch tools",
	}
	command.AddCommand(toolNewCommand(), toolLintCommand(), toolListCommand(), toolCallCommand(), toolPublishCommand(),
		toolEvalCommand())
	for _, switching := range []*cobra.Command{
		disableCommand(&at, "disable", "Hide a tool from lists and calls, within ten seconds, until it is enabled", true),
		disableCommand(&at, "enable", "Show a disabled tool again", false),
	} {
		at.flags(switching)
		command.AddCommand(switching)
	}
	return command
}

func disableCommand(at *where, use, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  patchbay tool " + use + " get_weather --deployment shop-prod",
		Args:    takes(1, 1),
		// Of a deployment's tools, those that are in this module's folder, too.
		ValidArgsFunction: completeFirst(completeTools(&at.root, "functions")),
		RunE: func(cmd *cobra.Command, args []string) error {
			act := operate.Act{Lever: "tool " + use, On: args[0]}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, _ *operate.Act) error {
				publisher := registry.NewPublisher(target.DB, target.Tables.Registry, registry.PublisherOptions{})
				err := publisher.SetDisabled(ctx, args[0], disabled)
				if errors.Is(err, registry.ErrUnknownTool) {
					return fmt.Errorf("%w; %s", err, whichTool(ctx, publisher, args[0]))
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is %sd; within 10 seconds every instance goes by it\n",
					args[0], use)
				return err
			})
		},
	}
}

// whichTool says which tool was most likely meant by a name that none has.
func whichTool(ctx context.Context, publisher *registry.Publisher, name string) string {
	names, err := publisher.Names(ctx)
	if err != nil {
		return "which there are could not be read: " + err.Error()
	}
	if near := nearest.Name(name, slices.Concat(names.Published, names.Disabled)); near != "" {
		return "did you mean " + near + "?"
	}
	return "`catalogue show` lists the tools"
}
