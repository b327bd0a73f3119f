// Command dispatcher is the Lambda function behind the gateway: it serves the MCP endpoint and routes every tools/call
// to the tool's own function. It only wires; the endpoint is package endpoint, a call is package toolcall.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/dispatcher/endpoint"
	"patchbay/dispatcher/function"
	"patchbay/dispatcher/gateway"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	handler, err := newHandler(os.Getenv, log)
	if err != nil {
		log.Error("starting the dispatcher", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// newHandler puts the dispatcher together from its environment and the server.json beside the program.
func newHandler(getenv func(string) string, log *slog.Logger) (gateway.Handler, error) {
	settings, err := readSettings(getenv)
	if err != nil {
		return nil, err
	}
	server, err := readServer(settings.serverFile)
	if err != nil {
		return nil, err
	}
	info, err := json.Marshal(server.Implementation)
	if err != nil {
		return nil, fmt.Errorf("encoding serverInfo: %w", err)
	}
	db := settings.dynamoDB()
	catalogue := registry.NewReader(db, settings.table, registry.ReaderOptions{})
	functions := function.New(settings.lambda())
	handler, err := endpoint.New(endpoint.Config{
		Server:          server,
		Origins:         settings.origins,
		LoopbackOrigins: settings.loopbackOrigins,
		CacheTTL:        settings.cacheTTL,
		CacheScope:      settings.cacheScope,
		Page:            settings.page,
		AnswerWithin:    settings.answerWithin,
		Catalogue:       catalogue,
		Caller: toolcall.New(toolcall.Config{
			Catalogue: catalogue, Functions: functions, Sealer: settings.sealer(),
			Ledger: ledger.New(db, settings.ledgerTable, ledger.Options{}), ServerInfo: info, Log: log,
		}),
		Facts: facts,
		Log:   log,
	})
	if err != nil {
		return nil, err
	}
	return gateway.New(handler, gateway.Options{Buffered: settings.buffered, Logger: log}), nil
}

func readServer(file string) (endpoint.Server, error) {
	var server endpoint.Server
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return server, fmt.Errorf("reading what the server says of itself: %w", err)
	}
	if err := json.Unmarshal(data, &server); err != nil {
		return server, fmt.Errorf("reading %s: %w", file, err)
	}
	return server, nil
}

// facts tells the endpoint who calls, from what the gateway's authorizer found.
func facts(ctx context.Context) (endpoint.Facts, error) {
	caller, err := gateway.Principal(ctx)
	if err != nil {
		return endpoint.Facts{}, fmt.Errorf("reading the principal: %w", err)
	}
	return endpoint.Facts{RequestID: gateway.FromContext(ctx).RequestID, Principal: caller}, nil
}
