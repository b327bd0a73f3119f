// Command authorizer is the Lambda function that API Gateway asks before the MCP endpoint: a REQUEST authorizer, whose
// answers the gateway does not keep. It only wires; what it decides is package decide.
package main

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/dispatcher/authorizer/decide"
	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/dispatcher/authorizer/token"
	"patchbay/shared/authorization"
	"patchbay/shared/registry"
)

// warmTime bounds what a new instance reads before its first request.
const warmTime = 2 * time.Second

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	// Package log too, in which the Lambda runtime reports: everything in the function's log is JSON, one object a line.
	slog.SetDefault(log)
	authorizer, err := newAuthorizer(os.Getenv, log)
	if err != nil {
		log.Error("starting the authorizer", "error", err)
		os.Exit(1)
	}
	authorizer.warm()
	lambda.Start(authorizer.Decide)
}

// authorizer is a decider with what it reads first.
type authorizer struct {
	*decide.Decider
	catalogue *registry.Reader
	keys      []*jwks.Cache
}

// newAuthorizer puts the authorizer together from its environment and the file with whose tokens are taken.
func newAuthorizer(getenv func(string) string, log *slog.Logger) (*authorizer, error) {
	settings, err := readSettings(getenv)
	if err != nil {
		return nil, err
	}
	config, err := authorization.ReadFile(settings.authorizationFile)
	if err != nil {
		return nil, err
	}
	log = settings.named(log)
	a := &authorizer{catalogue: registry.NewReader(settings.dynamoDB(), settings.table, registry.ReaderOptions{})}
	keys := func(issuer *authorization.Issuer) token.Keys {
		cache := jwks.New(issuer, jwks.Options{Failed: func(err error) { log.Warn("fetching keys", "error", err) }})
		a.keys = append(a.keys, cache)
		return cache
	}
	a.Decider = decide.New(decide.Config{
		Verifier:  token.New(config, token.Options{Resource: settings.resource, Keys: keys}),
		Catalogue: a.catalogue, Resource: settings.resource, Log: log, Metrics: settings.counters(os.Stdout),
	})
	return a, nil
}

// warm reads the issuers' keys and where the catalogue stands while the instance starts, when Lambda gives it more of
// the processor than later. What fails is read again when it is needed.
func (a *authorizer) warm() {
	ctx, cancel := context.WithTimeout(context.Background(), warmTime)
	defer cancel()
	var all sync.WaitGroup
	for _, keys := range a.keys {
		all.Go(func() { _ = keys.Warm(ctx) })
	}
	all.Go(func() { _ = a.catalogue.Refresh(ctx) })
	all.Wait()
}
