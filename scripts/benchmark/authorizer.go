package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"patchbay/scripts/build"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/shared/authorization"
	"patchbay/shared/gatewayresponse"
	"patchbay/shared/principal"
)

// authorizerPart is the letter of the part.
const authorizerPart = "h"

// authorizer is part (h): what asking for a token costs. The same dispatcher stands behind two gateways: one asks the
// authorizer about every call, as on AWS; the other knows the token itself, so that all the rest is the same.
func (b *bench) authorizer(ctx context.Context) error {
	from, err := startIssuer()
	if err != nil {
		return err
	}
	defer from.close()
	if err := b.tokens(ctx, from); err != nil {
		return err
	}
	s, err := b.startStand(ctx)
	if err != nil {
		return err
	}
	guarded, err := s.guard(ctx, b.Module, from)
	if err != nil {
		return err
	}
	defer guarded.close()
	if err := b.guardedCalls(ctx, guarded); err != nil {
		return err
	}
	return b.authorizerStart(ctx, s, guarded)
}

// guardedStand is a server that asks for tokens, on the stand's Lambda service.
type guardedStand struct {
	issuer *issuer
	answer string
	// authorizer is what is deployed.
	authorizer locallambda.Function
	// asking asks the authorizer; knowing knows the token.
	asking, knowing *http.Server
	// askingURL and knowingURL are their endpoints.
	askingURL, knowingURL string
}

func (g *guardedStand) close() {
	for _, server := range []*http.Server{g.asking, g.knowing} {
		if server != nil {
			_ = server.Close()
		}
	}
}

// guard deploys an authorizer, and the stand's dispatcher once more, as one of a server that asks for tokens.
func (s *stand) guard(ctx context.Context, module string, from *issuer) (*guardedStand, error) {
	err := build.Go(ctx, build.GoOptions{
		ModuleDir: module, OutDir: filepath.Join(s.dir, "guarded"), Packages: []string{"./dispatcher/authorizer"},
	})
	if err != nil {
		return nil, err
	}
	dispatcher, authorizer := filepath.Join(s.dir, "guarded", "dispatcher"), filepath.Join(s.dir, "guarded", "authorizer")
	if err := linkFolder(filepath.Join(s.dir, "stack", "build", "dispatcher"), dispatcher); err != nil {
		return nil, fmt.Errorf("packaging the dispatcher: %w", err)
	}
	config, err := json.Marshal(from.config)
	if err != nil {
		return nil, fmt.Errorf("encoding whose tokens are taken: %w", err)
	}
	for _, dir := range []string{dispatcher, authorizer} {
		if err := os.WriteFile(filepath.Join(dir, authorization.FileName), config, 0o644); err != nil {
			return nil, fmt.Errorf("writing whose tokens are taken: %w", err)
		}
	}
	variables := map[string]string{
		"PATCHBAY_AUTHORIZATION_FILE": authorization.FileName, "PATCHBAY_RESOURCE": string(resource),
	}
	g := &guardedStand{issuer: from, answer: s.answer, authorizer: locallambda.Function{
		Name: "guarded-authorizer", Dir: authorizer, Timeout: 10 * time.Second, MemoryMB: 256,
		Env: with(variables, map[string]string{
			"PATCHBAY_TABLE": localstack.Table, "AWS_ENDPOINT_URL_DYNAMODB": s.stack.DatabaseURL,
		}),
	}}
	return g, g.deploy(s, locallambda.Function{
		Name: "guarded-dispatcher", Dir: dispatcher, Timeout: 30 * time.Second, MemoryMB: 512,
		Env: with(s.dispatcher, variables),
	})
}

func with(some, others map[string]string) map[string]string {
	all := maps.Clone(some)
	maps.Copy(all, others)
	return all
}

// linkFolder makes to have the files of from.
func linkFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		}
		return os.Link(path, filepath.Join(to, relative))
	})
}

func (g *guardedStand) deploy(s *stand, dispatcher locallambda.Function) error {
	behind, err := s.stack.Lambda().Deploy(dispatcher)
	if err != nil {
		return err
	}
	before, err := s.stack.Lambda().Deploy(g.authorizer)
	if err != nil {
		return err
	}
	caller := principal.Principal{Issuer: g.issuer.server.URL, Subject: "ada", ClientID: "bench"}
	options := localgateway.Options{
		FunctionARN: behind, Invoker: s.stack.Lambda(), Responses: gatewayresponse.Options{Computed: true},
	}
	asking, knowing := options, options
	asking.AuthorizerARN = before
	knowing.Principals = localgateway.Principals{g.issuer.token: caller}
	if g.asking, g.askingURL, err = serveGateway(asking); err != nil {
		return err
	}
	g.knowing, g.knowingURL, err = serveGateway(knowing)
	return err
}

func serveGateway(options localgateway.Options) (*http.Server, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listening on the loopback interface: %w", err)
	}
	server := &http.Server{Handler: localgateway.New(options)}
	go func() { _ = server.Serve(listener) }()
	return server, "http://" + listener.Addr().String() + localstack.Path, nil
}

// guardedCalls measures warm calls through both gateways in turns.
func (b *bench) guardedCalls(ctx context.Context, g *guardedStand) error {
	l := pick(b, load{clients: 1, rounds: 30, requests: 300}, load{clients: 1, rounds: 8, requests: 200})
	with, without, err := takeTurns(ctx, l,
		newSide(g.askingURL, g.answer, g.issuer.token, l.clients), newSide(g.knowingURL, g.answer, g.issuer.token, l.clients))
	if err != nil {
		return err
	}
	row := latencies(50, with, without)
	row.Part, row.What = authorizerPart, "a warm call that asks the authorizer, p50"
	row.AnchorName = "the same call without"
	b.report.add(row)
	b.report.add(Row{Part: authorizerPart, What: "of that: the authorizer", Unit: nanoseconds,
		Measured: max(0, row.Measured-row.Anchor)})
	return nil
}

// authorizerStart measures from the start of an authorizer's process to its first decision, beside a bare function's.
func (b *bench) authorizerStart(ctx context.Context, s *stand, g *guardedStand) error {
	event, err := json.Marshal(g.event())
	if err != nil {
		return fmt.Errorf("encoding an authorizer's event: %w", err)
	}
	discover, err := plain("server/discover").event()
	if err != nil {
		return err
	}
	started := g.authorizer
	started.Name = "started-authorizer"
	kinds := []*cold{
		{function: s.bare(), event: discover, expect: structured},
		{function: started, event: event, expect: `"Effect":"Allow"`},
	}
	for i := range pick(b, 40, 10) {
		for j := range kinds {
			if err := s.measureStart(ctx, kinds[(i+j)%len(kinds)]); err != nil {
				return err
			}
		}
	}
	row := startRow("start to first decision of the authorizer", kinds[1], kinds[0], 0)
	row.Part = authorizerPart
	b.report.add(row)
	return nil
}

// event is what API Gateway sends an authorizer for a call of the benchmark's tool.
func (g *guardedStand) event() events.APIGatewayCustomAuthorizerRequestTypeRequest {
	header := callOf(toolName).header()
	header.Set("Authorization", "Bearer "+g.issuer.token)
	event := events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type:       "REQUEST",
		MethodArn:  "arn:aws:execute-api:us-east-1:000000000000:bench/dev/POST/mcp",
		Resource:   "/mcp",
		Path:       "/mcp",
		HTTPMethod: http.MethodPost,
		Headers:    map[string]string{}, MultiValueHeaders: header,
	}
	for name := range header {
		event.Headers[name] = header.Get(name)
	}
	return event
}
