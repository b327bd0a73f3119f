// Command patchbay is the program that people run: the local stack and its tools, the conformance suite, the
// benchmarks. The scripts beside it only call it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "patchbay:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "patchbay",
		Short:         "Run and check a Patchbay server: MCP tools, one Lambda function each",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(localCommand(), samCommand(), smokeCommand(), synthCommand(),
		toolCommand(), catalogueCommand(), ledgerCommand(), callsCommand(), keysCommand(),
		conformanceCommand(), benchCommand(), costCommand(), installCommand(), versionCommand())
	return root
}
