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

	"github.com/spf13/cobra"

	"patchbay/scripts/logview"
	"patchbay/scripts/samstack"
)

func samCommand() *cobra.Command {
	var root, only string
	var options samstack.Options
	command := &cobra.Command{
		Use:   "sam",
		Short: "Run the server under SAM CLI, from the template that the CDK app synthesizes for this machine",
		Long: `Synthesizes the template for this machine, starts a DynamoDB engine that keeps its data on disk, publishes the
catalogue, and starts sam local start-lambda for the tools and sam local start-api for the endpoint. Needs Docker, in
which SAM runs every function. One Ctrl-C ends it all, containers included.

SAM is slower than patchbay local, about a second a call and hop, and cannot do all that AWS does: see the README.`,
		Example: `  patchbay sam
  patchbay sam --only data        # and then, in another terminal: sam local start-api
  patchbay sam --auth             # with the authorizer, and an authorization server on this machine`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Root, err = moduleRoot(root); err != nil {
				return err
			}
			if options.Only, err = samPart(only); err != nil {
				return err
			}
			options.LookupEnv = os.LookupEnv
			options.DockerHost = os.Getenv("DOCKER_HOST")
			return runSAM(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Addr, "addr", "127.0.0.1:3000", "where the API listens, HOST:PORT; port 0 is any free one")
	flags.StringVar(&options.LambdaAddr, "lambda-addr", "127.0.0.1:3001", "where the Lambda service listens, HOST:PORT")
	flags.BoolVar(&options.Auth, "auth", false, "ask for access tokens, of an authorization server that is started on "+
		"this machine")
	flags.StringVar(&options.AuthAddr, "auth-addr", "127.0.0.1:3002", "where that listens, HOST:PORT")
	flags.StringVar(&options.Stage, "stage", "dev", "the stage of patchbay.json whose settings are taken; the examples "+
		"are there in every one")
	flags.StringVar(&options.Functions, "functions", "", "the folder of functions, given to the CDK app as -c "+
		"functions=DIR (default functions in the module)")
	flags.StringVar(&options.CDK, "cdk", "", "the folder of the CDK app (default infra/cdk in the module)")
	flags.StringVar(&options.Data, "data", "", "where the template and the tables are kept (default .patchbay/sam in the "+
		"module, where samconfig.toml looks)")
	flags.StringVar(&only, "only", "", "template: synthesize it and end; data: start all but SAM's services, for whoever "+
		"starts those by hand")
	rootFlag(command, &root)
	return command
}

func samPart(only string) (samstack.Part, error) {
	parts := map[string]samstack.Part{"": samstack.All, "data": samstack.Data, "template": samstack.Template}
	part, ok := parts[only]
	if !ok {
		return part, fmt.Errorf("--only %s is not known; allowed: template, data", only)
	}
	return part, nil
}

func runSAM(ctx context.Context, out, errOut io.Writer, options samstack.Options) error {
	options.Progress = errOut
	view := logview.New(errOut, logview.Options{Colour: coloured(errOut)})
	options.Log = func(from string, line []byte) { view.Line(from, "", line) }
	stack, err := samstack.Start(ctx, options)
	if err != nil {
		return err
	}
	defer stack.Close()
	switch options.Only {
	case samstack.Template:
		fmt.Fprintf(out, "ready: %s\n%s", stack.TemplateFile(), samHelp(options.Root, stack))
		return nil
	case samstack.Data:
		fmt.Fprintf(out, "ready: the tables are at %s\n%s%s\nStop with Ctrl-C.\n", stack.DatabaseURL,
			samHelp(options.Root, stack), tokenHelp(stack))
	default:
		fmt.Fprintf(out, "ready: %s\n%s%s", stack.URL, tokenHelp(stack), callHelp(stack.URL, stack.Tools))
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(errOut, "stopping")
		return nil
	case <-stack.Done():
		return errors.New("a part of the stack ended by itself: " + strings.TrimSpace(stack.Ended()))
	}
}

// samHelp tells which commands of SAM's own work on the template; samconfig.toml has their settings.
func samHelp(root string, stack *samstack.Stack) string {
	help := &strings.Builder{}
	help.WriteString(`
With SAM's own command, from the module's root:

  sam validate
  sam local start-lambda
  sam local start-api
`)
	for _, folder := range slices.Sorted(maps.Keys(stack.Names)) {
		event := "tests/events/" + folder + ".json"
		if _, err := os.Stat(filepath.Join(root, event)); err == nil {
			fmt.Fprintf(help, "  sam local invoke %s --event %s\n", stack.Names[folder], event)
		}
	}
	return help.String()
}

// tokenHelp tells how to get a token without a browser; nothing where none is asked for.
func tokenHelp(stack *samstack.Stack) string {
	if stack.SignIn == nil {
		return ""
	}
	return `
Callers need a token. SAM answers 502 where API Gateway answers 401, so no client can begin to sign in here. This gets
one for a machine, with every scope; add -H "Authorization: Bearer $TOKEN" to what follows:

  ` + stack.TokenCommand() + "\n"
}
