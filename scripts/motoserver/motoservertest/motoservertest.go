// Package motoservertest gives tests a moto server.
package motoservertest

import (
	"errors"
	"testing"

	"patchbay/scripts/motoserver"
	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
)

// Start starts a server for one test. Where moto is not installed it skips the test, unless the environment that getenv
// reads requires the engines of tests.
func Start(tb testing.TB, getenv func(string) string, options motoserver.Options) *motoserver.Server {
	tb.Helper()
	server, err := motoserver.Start(tb.Context(), options)
	if errors.Is(err, pytools.ErrNotInstalled) && !nodemodules.Required(getenv) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Close)
	return server
}
