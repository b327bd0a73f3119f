// Command greet is the tool of the smallest server.
package main

import (
	"context"

	"patchbay/shared/tool"
)

type input struct {
	Name string `json:"name"`
}

func greet(_ context.Context, in input) (string, error) { return "Hello, " + in.Name + "!", nil }

func main() { tool.Serve(greet) }
