// Command dispatcher is the Lambda function behind the gateway: it serves the MCP endpoint and routes every tools/call
// to the tool's own function. It only wires; the endpoint is package endpoint, a call is package toolcall, and what
// clients read before they sign in is package discovery.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/dispatcher/discovery"
	"patchbay/dispatcher/endpoint"
	"patchbay/dispatcher/function"
	"patchbay/dispatcher/gateway"
	"patchbay/dispatcher/ratelimit"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
	"patchbay/shared/xray"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	// Package log too, in which the Lambda runtime reports: everything in the function's log is JSON, one object a line.
	slog.SetDefault(log)
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
	card, info, err := serverInfo(server.Implementation)
	if err != nil {
		return nil, err
	}
	config, err := settings.authorization()
	if err != nil {
		return nil, err
	}
	log = settings.named(log)
	audit := settings.named(slog.New(slog.NewJSONHandler(os.Stdout, nil))).With("log", "audit")
	counters := settings.counters(os.Stdout)
	db := settings.dynamoDB()
	catalogue := registry.NewReader(db, settings.table, registry.ReaderOptions{MaxAge: settings.catalogueMaxAge})
	functions := function.New(settings.lambda())
	mcpEndpoint := endpoint.New(endpoint.Config{
		ServerCard:      card,
		ServerInfo:      info,
		Instructions:    server.Instructions,
		Origins:         settings.origins,
		LoopbackOrigins: settings.loopbackOrigins,
		CacheTTL:        settings.cacheTTL,
		CacheScope:      settings.cacheScope,
		Page:            settings.page,
		AnswerWithin:    settings.answerWithin,
		Catalogue:       catalogue,
		Caller: toolcall.New(toolcall.Config{
			Catalogue: catalogue, Functions: functions, Sealer: settings.sealer(log),
			Ledger:  ledger.New(db, settings.ledgerTable, ledger.Options{}),
			Limiter: ratelimit.New(db, settings.ledgerTable), Limit: settings.limit,
			Ask: asking(config), ServerInfo: info, Log: log, Audit: audit, Metrics: counters,
		}),
		SignIn:  settings.signIn(),
		Facts:   factsOf(settings.signIn()),
		Log:     log,
		Metrics: counters,
	})
	handler := withPublic(mcpEndpoint, discovery.Config{
		Authorization: config, Resource: settings.resource, Catalogue: catalogue,
		Name: cmp.Or(server.Title, server.Name), Documentation: server.WebsiteURL,
		RequestID: func(ctx context.Context) string { return gateway.FromContext(ctx).RequestID },
		Log:       log, Metrics: counters,
	})
	return gateway.New(handler, gateway.Options{Buffered: settings.buffered, Logger: log}), nil
}

// withPublic serves the public addresses where callers sign in. All other requests go to the endpoint, whatever their
// path: which paths lead here is the gateway's to say.
func withPublic(mcpEndpoint http.Handler, public discovery.Config) http.Handler {
	if public.Authorization == nil {
		return mcpEndpoint
	}
	addresses := discovery.New(public)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if addresses.Handles(r.URL.Path) {
			addresses.ServeHTTP(w, r)
			return
		}
		mcpEndpoint.ServeHTTP(w, r)
	})
}

// asking is how clients ask for scopes, by the issuer of the token that they have; nil where nobody signs in.
func asking(config *authorization.Config) func(issuer string, scopes []string) []string {
	if config == nil {
		return nil
	}
	return func(issuer string, scopes []string) []string {
		if of := config.Find(issuer); of != nil {
			return of.AskAll(scopes)
		}
		return scopes
	}
}

// serverInfo encodes what the server is, in full for whoever asks, and in short for every other result: pictures and
// descriptions would come with each of them again.
func serverInfo(server mcp.Implementation) (full, short json.RawMessage, err error) {
	if full, err = json.Marshal(server); err != nil {
		return nil, nil, fmt.Errorf("encoding serverInfo: %w", err)
	}
	short, err = json.Marshal(mcp.Implementation{Name: server.Name, Title: server.Title, Version: server.Version})
	if err != nil {
		return nil, nil, fmt.Errorf("encoding serverInfo: %w", err)
	}
	return full, short, nil
}

// readServer reads the file that the build put beside the program, with the checks that the build made too: they cost
// less than a millisecond, and a file that was changed since is not served half understood.
func readServer(file string) (*contract.Server, error) {
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("reading what the server says of itself: %w", err)
	}
	server, problems := contract.ParseServer(file, data)
	if server == nil {
		return nil, fmt.Errorf("reading what the server says of itself: %w", problems.Err())
	}
	return server, nil
}

// factsOf tells the endpoint who calls and when, from what the gateway and its authorizer found. Where callers sign in,
// a request that no authorizer has seen is a fault of the deployment, and not one of nobody in particular: a gateway
// that lost its authorizer must not open the server to everybody.
func factsOf(signIn bool) func(context.Context) (endpoint.Facts, error) {
	return func(ctx context.Context) (endpoint.Facts, error) {
		door := gateway.FromContext(ctx)
		known := endpoint.Facts{
			RequestID: door.RequestID, TraceID: xray.FromContext(ctx), Received: door.Received, SourceIP: door.SourceIP,
		}
		if signIn && door.Authorizer == nil {
			return known, errors.New("reading the principal: callers sign in here, and no authorizer saw the request")
		}
		caller, err := gateway.Principal(ctx)
		if err != nil {
			return known, fmt.Errorf("reading the principal: %w", err)
		}
		known.Principal = caller
		return known, nil
	}
}
