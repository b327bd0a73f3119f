package main

import "github.com/spf13/cobra"

func toolCallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "call NAME [ARGUMENTS]",
		Short: "Call a tool as an MCP client does",
	}
}
