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
	"patchbay/scripts/motoserver"
	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
)

// Engine is the engine of a package's tests: dynalite, or moto where PATCHBAY_TEST_ENGINE says so. Main must run before
// its other methods are used.
type Engine struct {
	name  string
	url   string
	close func()
}

// The engines that PATCHBAY_TEST_ENGINE can name.
const (
	engineVariable = "PATCHBAY_TEST_ENGINE"
	dynalite       = "dynalite"
	moto           = "moto"
)

// Main starts the engine, runs the tests and ends the process, as the whole of a TestMain. Where the engine's packages
// are not installed the tests run without it, unless the environment that getenv reads requires it.
func (e *Engine) Main(m *testing.M, getenv func(string) string) {
	err := e.start(context.Background(), getenv(engineVariable))
	if err != nil && !mayDoWithout(err, getenv) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if e.close != nil {
		e.close()
	}
	os.Exit(code)
}

func (e *Engine) start(ctx context.Context, name string) error {
	switch name {
	case "", dynalite:
		engine, err := localdb.Start(ctx, localdb.Options{})
		if err != nil {
			return err
		}
		e.name, e.url, e.close = dynalite, engine.URL, engine.Close
		return nil
	case moto:
		server, err := motoserver.Start(ctx, motoserver.Options{})
		if err != nil {
			return err
		}
		e.name, e.url, e.close = moto, server.URL, server.Close
		return nil
	}
	return fmt.Errorf("environment variable %s is %q; it must be %s or %s", engineVariable, name, dynalite, moto)
}

// URL is where the engine answers. Without an engine it skips the test.
func (e *Engine) URL(tb testing.TB) string {
	tb.Helper()
	if e.close == nil {
		tb.Skip("the engine of the tests is not installed: run go tool patchbay install --dev")
	}
	return e.url
}

// Client returns a client of the engine. Without an engine it skips the test.
func (e *Engine) Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return localdb.Client(e.URL(tb))
}

// NotOnMoto skips a test that is about something in which moto is not like DynamoDB. The reason says what moto does
// instead, and where DynamoDB's documentation says otherwise.
func (e *Engine) NotOnMoto(tb testing.TB, reason string) {
	tb.Helper()
	if e.name == moto {
		tb.Skip("moto differs from DynamoDB: " + reason)
	}
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
	missing := errors.Is(err, nodemodules.ErrNotInstalled) || errors.Is(err, pytools.ErrNotInstalled)
	return missing && !nodemodules.Required(getenv)
}
