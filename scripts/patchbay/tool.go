package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"patchbay/scripts/localdb"
	"patchbay/scripts/localstack"
	"patchbay/shared/registry"
)

// catalogue says where the catalogue of a local stack is.
type catalogue struct {
	root, data, database, table string
}

func toolCommand() *cobra.Command {
	var where catalogue
	command := &cobra.Command{
		Use:   "tool",
		Short: "Disable or enable a tool of a running local stack",
	}
	flags := command.PersistentFlags()
	flags.StringVar(&where.data, "data", "", "the data folder of the local stack (default .patchbay in the module)")
	flags.StringVar(&where.database, "database", "", "the DynamoDB engine's URL (default that of the running stack)")
	flags.StringVar(&where.table, "table", "", "the catalogue's table (default that of the running stack)")
	rootFlag(command, &where.root)
	command.AddCommand(
		disableCommand(&where, "disable", "Hide a tool from lists and calls, within ten seconds, until it is enabled", true),
		disableCommand(&where, "enable", "Show a disabled tool again", false),
	)
	return command
}

func disableCommand(where *catalogue, use, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  patchbay tool " + use + " get_weather",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return where.setDisabled(cmd.Context(), cmd.OutOrStdout(), args[0], disabled)
		},
	}
}

func (c *catalogue) setDisabled(ctx context.Context, out io.Writer, name string, disabled bool) error {
	if err := c.resolve(); err != nil {
		return err
	}
	publisher := registry.NewPublisher(localdb.Client(c.database), c.table, registry.PublisherOptions{})
	if err := publisher.SetDisabled(ctx, name, disabled); err != nil {
		return err
	}
	state := "enabled"
	if disabled {
		state = "disabled"
	}
	_, err := fmt.Fprintf(out, "%s is %s; within 10 seconds every instance goes by it\n", name, state)
	return err
}

// resolve fills in what the flags leave to the running stack.
func (c *catalogue) resolve() error {
	if c.database != "" {
		if c.table == "" {
			c.table = localstack.Table
		}
		return nil
	}
	if c.data == "" {
		module, err := moduleRoot(c.root)
		if err != nil {
			return err
		}
		c.data = filepath.Join(module, ".patchbay")
	}
	running, err := localstack.ReadRunning(c.data)
	if errors.Is(err, localstack.ErrNotRunning) {
		return fmt.Errorf("%w; start it with ./scripts/local, or name its data folder with --data", err)
	}
	if err != nil {
		return err
	}
	c.database = running.DatabaseURL
	if c.table == "" {
		c.table = running.Table
	}
	return nil
}
