package tutorial

import (
	"path/filepath"
	"testing"
)

// The first tutorial: from a clone to a tool over an HTTP API, with a secret, a state handle and an idempotent write,
// called by an official client, then synthesized.
func TestFirstTool(t *testing.T) {
	t.Parallel()
	newClone(t).follow(t, filepath.Join("..", "..", "docs", "tutorial.md"))
}

// The second one: a function that exists already becomes a tool, without a deploy.
func TestExistingFunction(t *testing.T) {
	t.Parallel()
	newClone(t).follow(t, filepath.Join("..", "..", "docs", "existing-function.md"))
}
