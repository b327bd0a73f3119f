// Command keep_note is a tool of the tests' server. It says who called.
package main

import (
	"context"
	"errors"

	"patchbay/shared/tool"
)

func answer(ctx context.Context, _ struct{}) (string, error) {
	who, known := tool.Caller(ctx)
	if !known {
		return "", errors.New("the caller is not known")
	}
	return "keep by " + who.Subject + who.ClientID + " of " + who.Issuer, nil
}

func main() { tool.Serve(answer) }
