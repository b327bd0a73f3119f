package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/localstack"
)

func localCommand() *cobra.Command {
	var root string
	var watch bool
	var logs localLogs
	options := localstack.Options{LookupEnv: os.LookupEnv, CacheTTL: new(time.Duration)}
	var who callers
	command := &cobra.Command{
		Use:   "local",
		Short: "Run the whole server on this machine, without Docker and without an AWS account",
		Long: `Builds every function, starts a DynamoDB engine that keeps its data on disk, publishes the catalogue, and runs
the dispatcher and the functions on a local Lambda service behind a gateway that does what API Gateway does.
With --watch it takes in what is saved meanwhile: functions, contracts, new folders. One Ctrl-C ends it all.`,
		Example: `  patchbay local --addr 127.0.0.1:9000 --functions ./functions
  patchbay local --watch          # take in what is saved; the next call sees it
  patchbay local --trace          # draw the path of each call, with its times
  patchbay local --auth           # with an authorization server, where two users sign in`,
		Args: who.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Functions == "" {
				module, err := moduleRoot(root)
				if err != nil {
					return err
				}
				options.Functions = filepath.Join(module, "functions")
			}
			if err := who.apply(&options); err != nil {
				return err
			}
			if watch {
				options.Watch = tellChange(cmd.ErrOrStderr(), coloured(cmd.ErrOrStderr()))
			}
			return runLocal(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), options, logs)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Addr, "addr", "127.0.0.1:8787", "where to listen, HOST:PORT; port 0 is any free one")
	flags.BoolVar(&options.Page, "page", true, "serve a page at / to see and call the tools, on this machine alone")
	flags.StringVar(&options.Functions, "functions", "", "the folder of functions (default functions in the module)")
	flags.StringVar(&options.Existing, "existing", "", "a folder with the code of functions that exist already, which "+
		"contracts name by ARN or as local:NAME, beside tests/integration/existing in the module")
	flags.StringVar(&options.Data, "data", "", "where what is built and the tables are kept (default .patchbay in "+
		"the module)")
	flags.DurationVar(&options.AnswerWithin, "answer-within", 0, "how long the gateway waits for an answer, and so the "+
		"longest that a contract may take (default what the longest contract needs)")
	flags.DurationVar(options.CacheTTL, "cache-ttl", 5*time.Second, "how long clients may keep lists; 0 is not at all")
	flags.StringVar(&options.CacheScope, "cache-scope", "", "who may share lists: public or private (default public)")
	flags.StringArrayVar(&options.Origins, "origin", nil, "an origin whose web pages may call the server, as in "+
		"https://app.example.com, beside those of this machine; may be repeated")
	who.flags(command)
	flags.IntVar(&options.PageTools, "page-tools", 0, "the most tools in one page of tools/list (default 1000)")
	flags.BoolVar(&watch, "watch", false, "take in what is saved: build, publish and serve it without another start")
	logs.flags(command)
	rootFlag(command, &root)
	flags.IntVar(&options.PageBytes, "page-bytes", 0, "the most bytes in one page of tools/list (default 1 MiB)")
	return command
}

func runLocal(
	ctx context.Context, out, errOut io.Writer, options localstack.Options, logs localLogs,
) error {
	view, err := logs.view(errOut)
	if err != nil {
		return err
	}
	options.Progress = errOut
	options.LogOf = view.Line
	stack, err := localstack.Start(ctx, options)
	if err != nil {
		return err
	}
	defer logs.follow(stack, view)()
	defer stack.Close()
	for _, warning := range stack.Warnings {
		fmt.Fprintln(errOut, warning)
	}
	fmt.Fprintf(out, "ready: %s\n", stack.URL)
	if page := stack.PageURL(); page != "" {
		fmt.Fprintf(out, "\nSee the tools, call them and watch all calls in a browser:\n\n  %s\n", page)
	}
	help := callHelp(stack.URL, stack.Functions)
	if stack.Authorization != nil {
		help = signInHelp(stack)
	}
	fmt.Fprint(out, help)
	var signInEnded <-chan struct{}
	if stack.AuthServer != nil {
		signInEnded = stack.AuthServer.Done()
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(errOut, "stopping")
		return nil
	case <-stack.Done():
		return errors.New("the DynamoDB engine ended by itself")
	case <-signInEnded:
		return errors.New("the authorization server ended by itself")
	}
}

// callHelp tells how to call a tool, for whoever reads the terminal.
func callHelp(url string, functions map[string]string) string {
	const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	tool, arguments := exampleCall(functions)
	return strings.NewReplacer(
		"INSPECTOR", inspector, "URL", url, "META", meta, "TOOL", tool, "ARGUMENTS", arguments,
	).Replace(`
List the tools:

  curl -s URL -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":META}}'

Call one:

  curl -s URL -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: TOOL' \
    -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"TOOL",` +
		`"arguments":ARGUMENTS,"_meta":META}}'

Connect the MCP Inspector:

  INSPECTOR --cli URL --transport http --method tools/list

Stop with Ctrl-C.
`)
}

// exampleCall is a call to show: of the example tool, else of the first tool, which says itself what it wants.
func exampleCall(functions map[string]string) (tool, arguments string) {
	const example = "get_weather"
	if _, ok := functions[example]; ok {
		return example, `{"location":"Oslo"}`
	}
	return slices.Min(slices.Collect(maps.Keys(functions))), "{}"
}
