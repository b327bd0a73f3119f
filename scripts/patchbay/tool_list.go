package main

import "github.com/spf13/cobra"

func toolListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools of the catalogue",
	}
}
