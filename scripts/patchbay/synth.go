package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"patchbay/scripts/cdkapp"
)

func synthCommand() *cobra.Command {
	var (
		root    string
		context []string
		options cdkapp.Options
	)
	command := &cobra.Command{
		Use:   "synth",
		Short: "Build every function for deployment and write the CloudFormation templates",
		Long: `Builds every function for Lambda's processors, checks contracts and settings, and writes the templates and what
they name to cdk.out in the folder of the CDK app. It does what npx cdk synth does there, in less time.`,
		Example: "  patchbay synth -c stage=prod",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Module, err = moduleRoot(root); err != nil {
				return err
			}
			if options.Context, err = contextValues(context); err != nil {
				return err
			}
			options.Progress = cmd.ErrOrStderr()
			return runSynth(cmd, options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.App, "app", "", "the folder of the CDK app, with cdk.json (default infra/cdk in the module)")
	flags.StringVar(&options.Stage, "stage", "", "the stage in patchbay.json, the same as -c stage=NAME (default dev)")
	flags.BoolVar(&options.Local, "local", false, "write the template that SAM runs on this machine")
	flags.StringVar(&options.Output, "output", "", "where to write to (default cdk.out in the app's folder)")
	flags.StringArrayVarP(&context, "context", "c", nil, "a value for the app, NAME=VALUE; may be repeated")
	rootFlag(command, &root)
	return command
}

func contextValues(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("-c %s: allowed: NAME=VALUE, as in -c stage=prod", pair)
		}
		values[name] = value
	}
	return values, nil
}

func runSynth(cmd *cobra.Command, options cdkapp.Options) error {
	assembly, err := cdkapp.Synth(cmd.Context(), options)
	var refused *cdkapp.AppError
	if errors.As(err, &refused) {
		// The app has said what is wrong, on the terminal.
		return refused
	}
	if err != nil {
		return err
	}
	printMessages(cmd.ErrOrStderr(), assembly.Messages)
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "templates: %s\n", assembly.Dir)
	return err
}

func printMessages(w io.Writer, messages []cdkapp.Message) {
	for _, message := range messages {
		fmt.Fprintln(w, message)
	}
}
