package integration

import (
	"slices"
	"testing"

	"patchbay/tests/integration/wire"
)

// Every wire conversation, against the fixture tools. Those of rounds.wire need multi-round requests, which this release
// does not pass on.
func TestWireConversations(t *testing.T) {
	t.Parallel()
	files := slices.DeleteFunc(wire.Names(), func(name string) bool { return name == "rounds" })
	wire.Run(t, fixtures.URL, files...)
}
