package samstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2/clientcredentials"

	"patchbay/scripts/localauth"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/issuer"
)

// errTemplateAlone means that a template alone was asked for that nothing would run with.
var errTemplateAlone = errors.New("a template that takes the local authorization server's tokens is of use only " +
	"while that server runs; start it with the data")

// resource is the server's canonical URI. SAM knows no stages.
func (s *Stack) resource() authorization.Resource {
	return authorization.Resource("http://" + s.options.Addr + authorization.EndpointPath)
}

// startAuthorizationServer starts the local authorization server and writes what the stack must be configured with to
// take its tokens. People find it under its issuer, on this machine's loopback interface; containers find its keys
// under this machine's name there.
func (s *Stack) startAuthorizationServer(ctx context.Context) error {
	if !s.options.Auth {
		return nil
	}
	if s.options.Only == Template {
		return errTemplateAlone
	}
	scopes, err := s.scopes()
	if err != nil {
		return err
	}
	s.SignIn, err = localauth.Start(ctx, localauth.Options{
		NodeModules: s.modules, Addr: s.options.AuthAddr, Names: []string{containerHost}, Resource: s.resource(),
		Scopes: scopes, Log: func(line []byte) { s.options.Log("sign-in", line) },
	})
	if err != nil {
		return err
	}
	go func() {
		<-s.SignIn.Done()
		s.end("the authorization server ended")
	}()
	config := s.SignIn.Authorization()
	if s.metadata, err = issuer.Discover(ctx, issuer.Client(nil), &config.Issuers[0]); err != nil {
		return err
	}
	if config.Issuers[0].JWKSURI, err = s.keysForContainers(); err != nil {
		return err
	}
	return s.writeAuthorization(config)
}

// scopes are the permissions of all contracts.
func (s *Stack) scopes() ([]string, error) {
	set, problems := contract.LoadDir(s.options.Functions)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	scopes := map[string]bool{}
	for _, tool := range set.Tools {
		for _, scope := range tool.Contract.Permissions {
			scopes[scope] = true
		}
	}
	return slices.Sorted(maps.Keys(scopes)), nil
}

// keysForContainers is where containers find the issuer's keys.
func (s *Stack) keysForContainers() (string, error) {
	keys, err := url.Parse(s.metadata.JWKSURI)
	if err != nil || keys.Host == "" {
		return "", fmt.Errorf("the authorization server's keys are at %q, which is no URL", s.metadata.JWKSURI)
	}
	keys.Host = s.toContainers(keys.Host)
	return keys.String(), nil
}

// AuthorizationFile says whose tokens are taken; it is there with Options.Auth.
func (s *Stack) AuthorizationFile() string {
	return filepath.Join(s.options.Data, authorization.FileName)
}

func (s *Stack) writeAuthorization(config *authorization.Config) error {
	if err := config.Complete(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding whose tokens are taken: %w", err)
	}
	if err := os.WriteFile(s.AuthorizationFile(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing whose tokens are taken: %w", err)
	}
	return nil
}

// signInAddress is where the authorization server listens.
func (s *Stack) signInAddress() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(s.SignIn.Issuer, "http://"), "/")
	return host
}

// MachineToken gets a token for the authorization server's machine client with some scopes: for whoever has no browser,
// and because no client can begin to sign in under SAM, which answers 502 where API Gateway answers 401.
func (s *Stack) MachineToken(ctx context.Context, scopes ...string) (string, error) {
	machine := s.SignIn.Machine
	config := clientcredentials.Config{
		ClientID: machine.ClientID, ClientSecret: machine.Secret, TokenURL: s.metadata.TokenEndpoint, Scopes: scopes,
		EndpointParams: url.Values{"resource": {string(s.resource())}},
	}
	token, err := config.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("getting a token for the machine client: %w", err)
	}
	return token.AccessToken, nil
}

// TokenCommand is a line for a shell that gets a machine's token with all scopes, and leaves it in the variable TOKEN.
func (s *Stack) TokenCommand() string {
	machine := s.SignIn.Machine
	return fmt.Sprintf(`TOKEN=$(curl -s %s -u %s:%s -d grant_type=client_credentials -d resource=%s -d 'scope=%s' |`+
		` sed 's/.*"access_token":"\([^"]*\)".*/\1/')`,
		s.metadata.TokenEndpoint, machine.ClientID, machine.Secret, s.resource(), strings.Join(machine.Scopes, " "))
}
