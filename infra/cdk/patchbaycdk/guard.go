package patchbaycdk

import (
	"fmt"

	"patchbay/infra/cdk/settings"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/gatewayresponse"
)

// guard is how a server asks for access tokens; nil on an anonymous server.
type guard struct {
	config *authorization.Config
	// resource is the server's canonical URI; parts of it may be known to CloudFormation alone.
	resource authorization.Resource
	// challenge is what every 401 says.
	challenge string
}

// maxChallengeBytes keeps the challenge within what API Gateway takes for all header fields together, 10,240 bytes,
// with room for what a domain and the gateway itself add.
const maxChallengeBytes = 4096

// newGuard returns the guard of a stage; nil on an anonymous server. The challenge to callers without a token is fixed
// when the templates are written, so it knows the tools of this folder and none that other stacks publish.
func newGuard(stage *settings.Stage, resource authorization.Resource, tools []*contract.Tool) (*guard, error) {
	if stage.Authorization == nil {
		return nil, nil
	}
	g := &guard{config: stage.Authorization, resource: resource}
	g.challenge = g.config.FixedChallenge(resource, tools)
	if err := (gatewayresponse.Options{Challenge: g.challenge}).Check(); err != nil {
		return nil, fmt.Errorf("stage %q: %w", stage.Name, err)
	}
	if len(g.challenge) > maxChallengeBytes {
		return nil, fmt.Errorf("stage %q: the challenge to callers without a token has %d characters, since it names %d "+
			"scopes; allowed: %d; name fewer under \"initialScopes\" of its authorization", stage.Name, len(g.challenge),
			len(g.config.Initial(tools)), maxChallengeBytes)
	}
	return g, nil
}

// variables are how functions learn of the guard: none on an anonymous server.
func (g *guard) variables() map[string]string {
	if g == nil {
		return nil
	}
	return map[string]string{
		"PATCHBAY_AUTHORIZATION_FILE": authorization.FileName, // beside the program
		"PATCHBAY_RESOURCE":           string(g.resource),
	}
}

// responses are what the gateway's own answers depend on. Pages of other origins may read them where there can be such
// pages: on a server that asks for tokens, since a browser's client finds out from a 401 where to sign in, and on any
// that lets origins in.
func (g *guard) responses(stage *settings.Stage) gatewayresponse.Options {
	if g == nil {
		return gatewayresponse.Options{CrossOrigin: len(stage.Origins) > 0}
	}
	return gatewayresponse.Options{
		Challenge: g.challenge, Denied: authorization.FixedDenial(g.resource),
		Computed: g.config.Challenge == authorization.ChallengeComputed, CrossOrigin: true,
	}
}
