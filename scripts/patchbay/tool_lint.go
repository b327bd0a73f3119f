package main

import "github.com/spf13/cobra"

func toolLintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint [NAME...]",
		Short: "Check contracts, and say what would confuse a model or break a client",
	}
}
