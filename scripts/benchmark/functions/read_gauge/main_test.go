package main

import (
	"testing"

	"patchbay/shared/tool/tooltest"
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, read)
}
