package main

import "github.com/spf13/cobra"

func toolEvalCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "eval [FILE...]",
		Short: "Run recorded calls and compare what comes back",
	}
}
