package main

import "github.com/spf13/cobra"

func toolPublishCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "publish FOLDER...",
		Short: "Publish tools whose functions exist already, without a deploy",
	}
}
