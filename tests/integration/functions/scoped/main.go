// Command scoped is visible to all and runs for callers who have its scope.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func answer(context.Context, struct{}) (string, error) { return "Welcome.", nil }

func main() { tool.Serve(answer) }
