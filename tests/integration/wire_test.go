package integration

import (
	"testing"

	"patchbay/tests/integration/wire"
)

// Every wire conversation, against the fixture tools.
func TestWireConversations(t *testing.T) {
	t.Parallel()
	wire.Run(t, fixtures.URL)
}
