package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"patchbay/shared/mcp"
	"patchbay/shared/version"
)

// shownVersion is what a report of a fault should say.
type shownVersion struct {
	Version string `json:"version"`
	// Protocol is the newest revision of MCP that is spoken.
	Protocol string `json:"protocol"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "version",
		Short:   "Say which release of Patchbay this is",
		Example: "  patchbay version --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), shownVersion{
					version.Version, mcp.ModernVersions()[0], runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Version)
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON, with the protocol's revision, Go and the platform")
	return command
}
