package main

import (
	"github.com/spf13/cobra"

	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
)

func installCommand() *cobra.Command {
	var (
		root    string
		options nodemodules.Options
	)
	command := &cobra.Command{
		Use:   "install",
		Short: "Install the Node packages that Patchbay pins, unless they are there",
		Long: `Installs the DynamoDB engine and the Node that runs it. Every command that needs them does so by itself; this
is for whoever wants it done before, and for the tests, which also need moto and cfn-lint from PyPI.`,
		Example: "  patchbay install --dev",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Root, err = moduleRoot(root); err != nil {
				return err
			}
			options.Progress = cmd.ErrOrStderr()
			_, err = nodemodules.InstallFor(cmd.Context(), options)
			if err != nil || !options.Dev {
				return err
			}
			_, err = pytools.Moto(cmd.Context(), options.Root, options.Progress)
			return err
		},
	}
	command.Flags().BoolVar(&options.Dev, "dev", false, "also what tests need: official clients, the "+
		"conformance suite, moto and cfn-lint")
	rootFlag(command, &root)
	return command
}
