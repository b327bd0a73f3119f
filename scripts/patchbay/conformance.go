package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"patchbay/scripts/conformancesuite"
	"patchbay/scripts/localstack"
	"patchbay/scripts/nodemodules"
)

func conformanceCommand() *cobra.Command {
	var url, revision, root string
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Run the official MCP conformance suite against the local stack with the fixture tools",
		Long: `Starts the local stack with the fixture tools of tests/integration/functions, runs the official suite against
it and prints a table of its scenarios. The last line counts checks. The exit status is 0 when exactly those checks fail
that are expected to, each with its reason in scripts/conformancesuite. What is not installed yet is installed first.`,
		Example: "  patchbay conformance\n  patchbay conformance --revision 2025-11-25",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			module, err := moduleRoot(root)
			if err != nil {
				return err
			}
			modules, err := nodemodules.Install(cmd.Context(), nodemodules.Options{
				Root: module, Dev: true, Progress: cmd.ErrOrStderr(),
			})
			if err != nil {
				return err
			}
			suite := conformancesuite.Options{
				URL: url, NodeModules: modules, Revision: revision, Out: cmd.OutOrStdout(),
			}
			return runConformance(cmd.Context(), module, cmd.ErrOrStderr(), suite)
		},
	}
	flags := command.Flags()
	flags.StringVar(&url, "url", "", "an MCP endpoint to test instead of a local stack of its own")
	flags.StringVar(&revision, "revision", conformancesuite.Revision,
		"the protocol revision whose requirements are tested")
	rootFlag(command, &root)
	return command
}

func runConformance(ctx context.Context, module string, progress io.Writer, suite conformancesuite.Options) error {
	if suite.URL == "" {
		data, err := os.MkdirTemp("", "patchbay-conformance-")
		if err != nil {
			return fmt.Errorf("making a data folder: %w", err)
		}
		defer os.RemoveAll(data)
		stack, err := localstack.Start(ctx, localstack.Options{
			Addr:      "127.0.0.1:0",
			Functions: filepath.Join(module, "tests", "integration", "functions"),
			Data:      data,
			Progress:  progress,
		})
		if err != nil {
			return err
		}
		defer stack.Close()
		suite.URL = stack.URL
	}
	return conformancesuite.Run(ctx, suite)
}
