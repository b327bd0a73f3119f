package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"patchbay/scripts/localstack"
	"patchbay/tests/integration/conformance"
)

func conformanceCommand() *cobra.Command {
	var url, revision string
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Run the official MCP conformance suite against the local stack with the fixture tools",
		Long: `Starts the local stack with the fixture tools of tests/integration/functions, runs the official suite against it
and prints a table of its scenarios. The last line counts checks. The exit status is 0 when exactly those checks fail
that are expected to, each with its reason in tests/integration/conformance.`,
		Example: "  patchbay conformance\n  patchbay conformance --revision 2025-11-25",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runConformance(cmd.Context(), cmd.OutOrStdout(), url, revision)
		},
	}
	command.Flags().StringVar(&url, "url", "", "an MCP endpoint to test instead of a local stack of its own")
	command.Flags().StringVar(&revision, "revision", conformance.Revision, "the protocol revision whose requirements are tested")
	return command
}

func runConformance(ctx context.Context, out io.Writer, url, revision string) error {
	if url == "" {
		data, err := os.MkdirTemp("", "patchbay-conformance-")
		if err != nil {
			return fmt.Errorf("making a data folder: %w", err)
		}
		defer os.RemoveAll(data)
		stack, err := localstack.Start(ctx, localstack.Options{
			Addr:      "127.0.0.1:0",
			Functions: filepath.Join("tests", "integration", "functions"),
			Data:      data,
		})
		if err != nil {
			return err
		}
		defer stack.Close()
		url = stack.URL
	}
	return conformance.Run(ctx, conformance.Options{URL: url, Revision: revision, Out: out})
}
