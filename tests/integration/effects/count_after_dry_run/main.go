// Command count_after_dry_run counts its effects, each of which follows a dry run.
package main

import (
	"patchbay/shared/tool"
	"patchbay/tests/integration/effects/internal/effect"
)

func main() { tool.Serve(effect.Count) }
