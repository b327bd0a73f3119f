// Command off_limits must never run: its contract forbids it to every client.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func answer(context.Context, struct{}) (string, error) { return "This tool must not run.", nil }

func main() { tool.Serve(answer) }
