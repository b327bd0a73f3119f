package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settle makes every command of a tree answer alike to a command line that is wrong: with what is allowed, and with
// exitUsage. Left alone, cobra shows the help of a group that was given an unknown command, as if all were well.
func settle(command *cobra.Command) {
	if command.HasSubCommands() {
		command.Args, command.RunE = cobra.ArbitraryArgs, runGroup
		command.SuggestionsMinimumDistance = 2
	}
	if check := command.Args; check != nil {
		command.Args = func(command *cobra.Command, args []string) error { return usage(check(command, args)) }
	}
	for _, sub := range command.Commands() {
		settle(sub)
	}
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// runGroup runs a command that only holds others.
func runGroup(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.Help()
	}
	if near := command.SuggestionsFor(args[0]); len(near) > 0 {
		return usageError{fmt.Errorf("%q is no command of %s; did you mean %s?", args[0], command.CommandPath(),
			strings.Join(near, " or "))}
	}
	var names []string
	for _, sub := range command.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usageError{fmt.Errorf("%q is no command of %s; allowed: %s", args[0], command.CommandPath(),
		strings.Join(names, ", "))}
}

// checkValues refuses a flag that took the next flag for its value, which is never meant.
func checkValues(command *cobra.Command, _ []string) (err error) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		if value := flag.Value.String(); flag.Value.Type() == "string" && strings.HasPrefix(value, "--") {
			err = flagError(command, fmt.Errorf("--%s has no value: behind it stands %s", flag.Name, value))
		}
	})
	return err
}

// flagError is what is said of a flag that a command does not have, or a value that a flag does not take.
func flagError(command *cobra.Command, err error) error {
	return usageError{fmt.Errorf("%w; `%s --help` tells its flags", err, command.CommandPath())}
}
