package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"patchbay/scripts/localstack"
	"patchbay/scripts/mcpcall"
)

// tokenVariable is where an access token is looked for.
const tokenVariable = "PATCHBAY_TOKEN"

// endpoint says which server a command calls as a client, and with which token.
type endpoint struct {
	url, tokenEnv, data, root string
}

func (e *endpoint) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&e.url, "url", "", "the MCP endpoint (default that of the local stack that is running)")
	flags.StringVar(&e.tokenEnv, "token-env", tokenVariable, "the environment variable with the access token, if the "+
		"server asks for one")
	flags.StringVar(&e.data, "data", "", "the data folder of the local stack (default .patchbay in the module)")
	rootFlag(command, &e.root)
}

// connect opens a connection to the server that the flags name.
func (e *endpoint) connect(ctx context.Context, command *cobra.Command) (*mcpcall.Client, error) {
	options := mcpcall.Options{URL: e.url, Token: os.Getenv(e.tokenEnv)}
	if options.Token == "" && command.Flags().Changed("token-env") {
		return nil, usageError{fmt.Errorf("--token-env %s: the variable is not set, or empty", e.tokenEnv)}
	}
	if options.URL == "" {
		running, err := e.running()
		if err != nil {
			return nil, err
		}
		options.URL = running.URL
	}
	client, err := mcpcall.Connect(ctx, options)
	var refusal *mcpcall.Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
		return nil, fmt.Errorf("%w; put an access token into the variable %s, or name another by --token-env. Of a local "+
			"stack with --auth, what it printed when it started tells how to get one", err, tokenVariable)
	}
	return client, err
}

// running finds the local stack.
func (e *endpoint) running() (localstack.Running, error) {
	data := e.data
	if data == "" {
		module, err := moduleRoot(e.root)
		if err != nil {
			return localstack.Running{}, err
		}
		data = filepath.Join(module, ".patchbay")
	}
	running, err := localstack.ReadRunning(data)
	if errors.Is(err, localstack.ErrNotRunning) {
		return running, fmt.Errorf("%w; start one with `patchbay local`, or name a server by --url", err)
	}
	return running, err
}
