package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
)

// leverWait bounds a lever, so that an operator is not left waiting for an AWS that does not answer.
const leverWait = 2 * time.Minute

// where says which deployment an operator's command acts on.
type where struct {
	options operate.Options
	root    string
}

// flags adds the flags of all levers.
func (w *where) flags(command *cobra.Command) {
	flags := command.PersistentFlags()
	flags.StringVar(&w.options.Deployment, "deployment", "",
		"a deployment on AWS, <server>-<stage> (default the local stack that is running)")
	flags.StringVar(&w.options.Region, "region", "", "the deployment's region (default AWS's own configuration)")
	flags.StringVar(&w.options.Profile, "profile", "", "the profile of AWS's configuration to act with")
	flags.StringVar(&w.options.Data, "data", "", "the data folder of the local stack (default .patchbay in the module)")
	rootFlag(command, &w.root)
}

// act opens what the flags name and does an act on it.
func (w *where) act(
	ctx context.Context, act operate.Act, do func(context.Context, *operate.Target, *operate.Act) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, leverWait)
	defer cancel()
	target, err := w.open(ctx)
	if err != nil {
		return err
	}
	return target.Do(ctx, act, func(act *operate.Act) error { return do(ctx, target, act) })
}

func (w *where) open(ctx context.Context) (*operate.Target, error) {
	options := w.options
	if options.Deployment == "" && options.Data == "" {
		module, err := moduleRoot(w.root)
		if err != nil {
			return nil, err
		}
		options.Data = filepath.Join(module, ".patchbay")
	}
	return operate.Open(ctx, options)
}

// writeJSON writes a value for scripts, and for whoever reads it in a terminal: the encoder alone leaves controls
// beyond ASCII as they are.
func writeJSON(out io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	if _, err := out.Write(printable.JSON(text.Bytes())); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}
