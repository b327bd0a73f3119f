// Command count_confirmed counts its effects, each of which a person has confirmed.
package main

import (
	"patchbay/shared/tool"
	"patchbay/tests/integration/effects/internal/effect"
)

func main() { tool.Serve(effect.Count) }
