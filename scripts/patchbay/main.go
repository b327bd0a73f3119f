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
		Use:   "patchbay",
		Short: "Write, run, check and operate a Patchbay server: MCP tools, one Lambda function each",
		Long: `Patchbay is the program of whoever writes tools and of whoever operates them. It works in Patchbay's own
repository and in every module that requires it, from any folder of it. Where no shell knows a program "patchbay", the
examples are written with "go tool patchbay".

Results are written to standard output, progress and errors to standard error. Exit codes of every command:

  0  it is done, and nothing that was checked has a fault
  1  it was not done, or what was checked has faults; the reason is on standard error
  2  the command itself was wrong, and nothing was begun: an unknown command or flag, a missing argument`,
		Example: `  patchbay local --watch
  patchbay tool new find_order
  patchbay tool lint`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: checkValues,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(localCommand(), samCommand(), smokeCommand(), synthCommand(),
		toolCommand(), catalogueCommand(), ledgerCommand(), callsCommand(), keysCommand(),
		conformanceCommand(), benchCommand(), costCommand(), installCommand(), versionCommand())
	root.InitDefaultCompletionCmd()
	explainCompletion(root)
	settle(root)
	return root
}
