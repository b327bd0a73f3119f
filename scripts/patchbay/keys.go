package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"patchbay/scripts/operate"
	"patchbay/shared/seal"
)

// errNoKeys means that there is no ring to change on the local stack.
var errNoKeys = errors.New("the local stack keeps its keys in seal-keys.json of its data folder, and makes new ones " +
	"when that file is gone; name a deployment with --deployment")

func keysCommand() *cobra.Command {
	var at where
	command := &cobra.Command{
		Use:   "keys",
		Short: "Show or change the keys that seal what calls remember between their rounds",
		Long: `To replace the key without refusing a call that is under way: "keys stage", wait 10 minutes until every
instance has read the new one, "keys promote" it, wait a day until nothing is on its way that the old one sealed, "keys
drop" the old one. After a key was seen by somebody: the same without waiting; calls that are between two rounds
begin again. The keys themselves are never shown.`,
	}
	at.flags(command)
	command.AddCommand(
		keysVerb(&at, "show", "Show the keys' ids and roles", false,
			func(ring seal.Ring, _ string) (seal.Ring, error) { return ring, nil }),
		keysVerb(&at, "stage", "Add a new key, which only opens", false,
			func(ring seal.Ring, _ string) (seal.Ring, error) {
				staged, _ := ring.Stage()
				return staged, nil
			}),
		keysVerb(&at, "promote", "Seal with a key from now on", true, seal.Ring.Promote),
		keysVerb(&at, "drop", "Remove a key: nothing that it sealed opens any more", true, seal.Ring.Drop),
	)
	return command
}

// keysVerb is a command that changes the ring, or leaves it as it is.
func keysVerb(
	at *where, verb, short string, named bool, change func(seal.Ring, string) (seal.Ring, error),
) *cobra.Command {
	use, arguments := verb, takes(0, 0)
	if named {
		use, arguments = verb+" KEY", takes(1, 1)
	}
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  patchbay keys " + use + " --deployment shop-prod",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			act := operate.Act{Lever: "keys " + verb}
			if named {
				act.On = args[0]
			}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, act *operate.Act) error {
				if target.Keys == nil {
					return errNoKeys
				}
				ring, err := changeKeys(ctx, target.Keys, verb != "show", func(ring seal.Ring) (seal.Ring, error) {
					return change(ring, act.On)
				})
				if err != nil {
					return err
				}
				return writeKeys(cmd.OutOrStdout(), ring)
			})
		},
	}
}

func changeKeys(
	ctx context.Context, keys *seal.Stored, write bool, change func(seal.Ring) (seal.Ring, error),
) (seal.Ring, error) {
	if !write {
		return keys.Load(ctx)
	}
	return keys.Change(ctx, change)
}

func writeKeys(out io.Writer, ring seal.Ring) error {
	var failures []error
	for _, key := range ring.Keys {
		does := "opens only"
		if key.Role == seal.RolePrimary {
			does = "seals and opens"
		}
		_, err := fmt.Fprintf(out, "%-16s  %s\n", key.ID, does)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
