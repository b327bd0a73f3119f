// Command patchbay is the program that people run: the local stack and its tools, the conformance suite, the
// benchmarks. The scripts beside it only call it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"patchbay/scripts/printable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		complain(os.Stderr, err)
		os.Exit(exitCode(err))
	}
}

// complain writes why a command failed, which may quote what a server or a tool wrote.
func complain(w io.Writer, err error) {
	fmt.Fprintln(w, printable.Lines("patchbay: "+err.Error(), "  "))
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
