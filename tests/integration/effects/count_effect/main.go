// Command count_effect counts its effects under the caller's idempotency key.
package main

import (
	"patchbay/shared/tool"
	"patchbay/tests/integration/effects/internal/effect"
)

func main() { tool.Serve(effect.Count) }
