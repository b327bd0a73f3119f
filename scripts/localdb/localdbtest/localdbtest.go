// Package localdbtest gives the tests of a package one DynamoDB engine in memory, or each test one of its own.
package localdbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localdb"
	"patchbay/scripts/nodemodules"
)

// Engine is the engine of a package's tests. Main must run before its other methods are used.
type Engine struct{ engine *localdb.Engine }

// Main starts the engine, runs the tests and ends the process, as the whole of a TestMain. Where the engine's packages
// are not installed the tests run without it, unless the environment that getenv reads requires it.
func (e *Engine) Main(m *testing.M, getenv func(string) string) {
	var err error
	e.engine, err = localdb.Start(context.Background(), localdb.Options{})
	if err != nil && !mayDoWithout(err, getenv) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if e.engine != nil {
		e.engine.Close()
	}
	os.Exit(code)
}

// URL is where the engine answers. Without an engine it skips the test.
func (e *Engine) URL(tb testing.TB) string {
	tb.Helper()
	if e.engine == nil {
		tb.Skip(nodemodules.ErrNotInstalled)
	}
	return e.engine.URL
}

// Client returns a client of the engine. Without an engine it skips the test.
func (e *Engine) Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return localdb.Client(e.URL(tb))
}

// Start starts an engine for one test, which may end it before the test's own end does. Where the engine's packages are
// not installed it skips the test, unless the environment that getenv reads requires them.
func Start(tb testing.TB, getenv func(string) string) *localdb.Engine {
	tb.Helper()
	engine, err := localdb.Start(tb.Context(), localdb.Options{})
	if err != nil && mayDoWithout(err, getenv) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(engine.Close)
	return engine
}

func mayDoWithout(err error, getenv func(string) string) bool {
	return errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(getenv)
}
