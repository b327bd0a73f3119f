// Command count_idempotent counts its effects, which may be repeated when nobody knows whether there was one.
package main

import (
	"patchbay/shared/tool"
	"patchbay/tests/integration/effects/internal/effect"
)

func main() { tool.Serve(effect.Count) }
