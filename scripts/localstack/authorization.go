package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
)

// Kinds of authorization server that a stack can start.
const (
	// AuthGeneric is one that has all that MCP asks for.
	AuthGeneric = "generic"
	// AuthCognito is one with the gaps and the odd tokens of an Amazon Cognito user pool.
	AuthCognito = "cognito"
)

// authorizerPackage is named as dispatcherPackage is.
const authorizerPackage = "patchbay/dispatcher/authorizer"

// authorizerTimeout is more than the authorizer takes when it has to fetch an issuer's keys.
const authorizerTimeout = 10 * time.Second

// checkAuth refuses options that say in more than one way who may call.
func (o Options) checkAuth() error {
	switch o.Auth {
	case "", AuthGeneric, AuthCognito:
	default:
		return fmt.Errorf("authorization server %q: allowed: %s, %s", o.Auth, AuthGeneric, AuthCognito)
	}
	if o.Principals != nil && (o.Auth != "" || o.Authorization != nil) {
		return errors.New("principals stand in for an authorization server: name one or the other")
	}
	return nil
}

// protected reports whether callers need tokens.
func (s *Stack) protected() bool { return s.Authorization != nil }

// authorize finds out whose tokens the server takes, and starts the authorization server if it is to be one of its own.
func (s *Stack) authorize(ctx context.Context) error {
	// Pages of this machine may always call, so that pages may read why they were refused.
	s.responses.CrossOrigin = true
	if s.options.Auth == "" && s.options.Authorization == nil {
		return nil
	}
	resource, err := authorization.ParseResource(s.URL)
	if err != nil {
		return fmt.Errorf("the server takes tokens only on a loopback address, as in 127.0.0.1:8787: %w", err)
	}
	config, err := s.options.configuration()
	if err != nil {
		return err
	}
	if s.options.Auth != "" {
		if err := s.startAuth(ctx, resource); err != nil {
			return err
		}
		addServer(config, s.AuthServer.Authorization())
		if config.InitialScopes == nil {
			// A tool that only those see who may call it would be seen by nobody: no challenge names what it asks for. The
			// authorization server leaves out what a user may not have.
			config.InitialScopes = slices.Concat(config.Initial(s.set.Tools), hiding(s.set.Tools))
		}
	}
	if err := config.Complete(); err != nil {
		return fmt.Errorf("checking whose tokens are taken: %w", err)
	}
	s.Authorization = config
	s.responses.Challenge = config.FixedChallenge(resource, s.set.Tools)
	s.responses.Denied = authorization.FixedDenial(resource)
	s.responses.Computed = config.Challenge == authorization.ChallengeComputed
	if err := s.responses.Check(); err != nil {
		return err
	}
	return s.writeAuthorization()
}

// configuration is a copy of what the options say, which is theirs to keep.
func (o Options) configuration() (*authorization.Config, error) {
	config := &authorization.Config{}
	if o.Authorization == nil {
		return config, nil
	}
	data, err := json.Marshal(o.Authorization)
	if err != nil {
		return nil, fmt.Errorf("encoding whose tokens are taken: %w", err)
	}
	if err := json.Unmarshal(data, config); err != nil {
		return nil, fmt.Errorf("decoding whose tokens are taken: %w", err)
	}
	return config, nil
}

// addServer has a configuration take the tokens of one more server, the first that clients are told of.
func addServer(config, server *authorization.Config) {
	config.Issuers = append(slices.Clone(server.Issuers), config.Issuers...)
	if server.Front != nil && config.Front == nil {
		config.Front = server.Front
		config.Front.Issuer = server.Issuers[0].URL
	}
}

// startAuth starts the authorization server. It knows every permission that a contract asks for.
func (s *Stack) startAuth(ctx context.Context, resource authorization.Resource) (err error) {
	fmt.Fprintln(s.options.Progress, "starting the authorization server")
	options := s.options.AuthServer
	options.NodeModules, options.Resource, options.Like = s.modules, resource, ""
	if page := s.PageURL(); page != "" {
		options.RedirectURIs = append(slices.Clone(options.RedirectURIs), page)
	}
	if s.options.Auth == AuthCognito {
		options.Like = localauth.LikeCognito
	}
	if options.Scopes == nil {
		options.Scopes = permissions(s.set.Tools)
		if options.Users == nil {
			options.Users = users(s.set.Tools)
		}
	}
	options.Log = func(line []byte) { s.tell("auth", "", line) }
	s.AuthServer, err = localauth.Start(ctx, options)
	return err
}

// users are the default ones. The lesser may have no scope of hiding, so that it misses the same tools whichever others
// there are; where nothing hides, the last of all.
func users(tools []*contract.Tool) []localauth.User {
	known := permissions(tools)
	all := localauth.DefaultUsers(known)
	if hidden := hiding(tools); len(hidden) > 0 {
		all[1].Scopes = known[:len(known)-len(hidden)]
	}
	return all
}

// permissions are all that tools ask for, the last those of hiding.
func permissions(tools []*contract.Tool) []string {
	return append(asked(tools, contract.VisibilityAlways), hiding(tools)...)
}

// hiding are the permissions that only tools ask for which nobody sees without them.
func hiding(tools []*contract.Tool) []string {
	known := asked(tools, contract.VisibilityAlways)
	return slices.DeleteFunc(asked(tools, contract.VisibilityPermitted), func(scope string) bool {
		return slices.Contains(known, scope)
	})
}

// asked are the permissions of the tools of a visibility, sorted.
func asked(tools []*contract.Tool, visibility contract.Visibility) []string {
	all := map[string]bool{}
	for _, tool := range tools {
		for _, scope := range tool.Contract.Permissions {
			if tool.Contract.Visibility == visibility {
				all[scope] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Challenge is the value of the WWW-Authenticate field that a request without a token is answered with; empty where
// callers need no tokens.
func (s *Stack) Challenge() string { return s.responses.Challenge }

// writeAuthorization writes the configuration to where the packages take it from.
func (s *Stack) writeAuthorization() error {
	data, err := json.MarshalIndent(s.Authorization, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding whose tokens are taken: %w", err)
	}
	if err := os.WriteFile(s.authorizationPath(), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing whose tokens are taken: %w", err)
	}
	return nil
}

func (s *Stack) authorizationPath() string {
	return filepath.Join(s.options.Data, authorization.FileName)
}

// authorizationVariables are what the dispatcher and the authorizer both read.
func (s *Stack) authorizationVariables() map[string]string {
	if !s.protected() {
		return nil
	}
	return map[string]string{"PATCHBAY_AUTHORIZATION_FILE": authorization.FileName, "PATCHBAY_RESOURCE": s.URL}
}

// authorizer is what the stack makes of the authorizer, which only a server has that wants tokens.
func (d *deployment) authorizer() locallambda.Function {
	environment := d.authorizationVariables()
	environment["PATCHBAY_TABLE"] = Table
	environment["AWS_ENDPOINT_URL_DYNAMODB"] = d.DatabaseURL
	return locallambda.Function{
		Name:     "authorizer",
		Dir:      filepath.Join(d.outDir(), "authorizer"),
		Env:      environment,
		Timeout:  authorizerTimeout,
		MemoryMB: 512,
	}
}

// routes are the addresses of the API: what tells where to sign in is open.
func (s *Stack) routes() []localgateway.Route {
	routes := []localgateway.Route{{Path: Path}, {Method: "OPTIONS", Path: Path, Open: true}}
	if !s.protected() {
		return routes
	}
	for _, path := range s.Authorization.PublicPaths() {
		routes = append(routes, localgateway.Route{Path: path, Open: true})
	}
	return routes
}
