package main

import "github.com/spf13/cobra"

func toolNewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Write the folder of a new tool, with a test that passes",
	}
}
