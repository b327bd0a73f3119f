// Command members_only is hidden from callers without its scope.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func answer(context.Context, struct{}) (string, error) { return "Welcome.", nil }

func main() { tool.Serve(answer) }
