package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// rootFlag adds the flag by which the launchers say where the module is, so that paths in other flags stay relative to
// where people stand.
func rootFlag(command *cobra.Command, root *string) {
	flags := command.PersistentFlags()
	flags.StringVar(root, "root", "", "the module's root folder (default the nearest with a go.mod, from here upwards)")
}

// takes refuses another number of arguments than a command's, and says what they are.
func takes(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if most == 0 && len(args) > 0 {
			return fmt.Errorf("%q: %s takes no arguments; `%[2]s --help` tells its flags", args[0], command.CommandPath())
		}
		if len(args) < least || len(args) > most {
			return fmt.Errorf("the number of arguments is %d; usage: %s", len(args), command.UseLine())
		}
		return nil
	}
}

// moduleRoot returns the absolute path of the folder that the flag names, else of the nearest one with a go.mod at or
// above the current folder.
func moduleRoot(root string) (string, error) {
	at, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("locating %s: %w", root, err)
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if root != "" {
			return "", fmt.Errorf("--root %s has no go.mod", root)
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod here or above; name the module's root folder with --root")
		}
	}
}
