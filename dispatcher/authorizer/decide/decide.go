// Package decide is the authorizer: it answers API Gateway whether a request may go on to the dispatcher.
//
// The gateway can send one challenge that is computed. It is the 403's: a denial carries it in its context. The 401's
// is fixed, since the error that makes one carries nothing. Three things come out of a request, then:
//
//   - without a good access token, an error whose text is exactly "Unauthorized", API Gateway's word for a 401;
//   - a tool call whose token lacks a scope or a sign-in: a policy that denies, with the whole WWW-Authenticate value;
//   - all else: a policy that allows, with the principal for the dispatcher.
//
// Any other error is trouble of our own, a 5xx. Which tool is called is only known here by the header Mcp-Name, which
// is not the request: the dispatcher decides again from the body. So a tool that cannot be looked up, or is not the
// caller's to see, is let through, and the dispatcher answers for it as for any.
//
// Sources: Amazon API Gateway Developer Guide, "Use API Gateway Lambda authorizers"; RFC 6750, section 3; RFC 9470.
package decide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"patchbay/dispatcher/authorizer/token"
	"patchbay/dispatcher/metrics"
	"patchbay/shared/access"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/gatewayresponse"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
)

// ErrUnauthorized is what API Gateway takes for a 401, by its text.
var ErrUnauthorized = errors.New("Unauthorized")

// errUndecided is the error for everything that is our own trouble. What it was is in the log.
var errUndecided = errors.New("the request could not be authorized")

// lookupTime bounds the look at the catalogue, without which a request is let through to the dispatcher's own look.
const lookupTime = 2 * time.Second

// Policy is an answer to API Gateway.
type Policy = events.APIGatewayCustomAuthorizerResponse

// Catalogue finds tools, as registry.Reader does.
type Catalogue interface {
	Lookup(ctx context.Context, name string) (*registry.Entry, error)
}

// Config is what a Decider works with. All fields but Metrics, Log and Now must be set.
type Config struct {
	Verifier  *token.Verifier
	Catalogue Catalogue
	Resource  authorization.Resource
	// Log gets one line for each decision; nil means nobody.
	Log     *slog.Logger
	Metrics *metrics.Writer
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Decider decides. It is safe for concurrent use.
type Decider struct{ Config }

// New returns a Decider.
func New(config Config) *Decider {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Decider{config}
}

// Decide answers one request. The error is ErrUnauthorized, or says no more than that there is none.
func (d *Decider) Decide(ctx context.Context, event Event) (policy Policy, err error) {
	record := &record{requestID: event.RequestContext.RequestID}
	defer func() {
		if fault := recover(); fault != nil {
			record.outcome, record.err = outcomeFailed, fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
			policy, err = Policy{}, errUndecided
		}
		d.write(ctx, record)
	}()
	return d.decide(ctx, &event, record)
}

func (d *Decider) decide(ctx context.Context, event *Event, record *record) (Policy, error) {
	text, ok := bearer(event)
	if !ok {
		record.outcome, record.reason = outcomeUnauthorized, reasonNoToken
		return Policy{}, ErrUnauthorized
	}
	verified, err := d.Verifier.Verify(ctx, text)
	var refusal *token.Refusal
	if errors.As(err, &refusal) {
		record.refused(refusal)
		return Policy{}, ErrUnauthorized
	}
	if err != nil {
		return d.undecided(record, err)
	}
	record.verified(verified)
	resource, err := stage(event.MethodArn)
	if err != nil {
		return d.undecided(record, err)
	}
	policy := newPolicy(&verified.Principal, resource)
	if rules := d.rules(ctx, event, record); rules != nil {
		if lack := access.Check(rules, verified.Principal, d.Now()); !lack.None() {
			record.denied(lack)
			return d.deny(policy, rules, lack, verified.Issuer), nil
		}
	}
	record.outcome = outcomeAllowed
	return policy, nil
}

func (d *Decider) undecided(record *record, err error) (Policy, error) {
	record.outcome, record.err = outcomeFailed, err
	return Policy{}, errUndecided
}

// rules is the contract of the tool that the request says it calls; nil for none that the caller sees.
func (d *Decider) rules(ctx context.Context, event *Event, record *record) *contract.Contract {
	name, ok := called(event)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	entry, err := d.Catalogue.Lookup(ctx, name)
	if err != nil {
		if !errors.Is(err, registry.ErrUnknownTool) {
			record.err = err
		}
		return nil
	}
	rules := &entry.Tool.Contract
	if !access.Visible(rules, record.principal) {
		return nil
	}
	record.tool = entry.Tool.Name
	return rules
}

// deny makes a denial of the policy, with the challenge for all that the tool needs: naming what is missing alone would
// make a client come back for the rest. Source: MCP 2026-07-28, basic/authorization#runtime-insufficient-scope-errors.
func (d *Decider) deny(
	policy Policy, rules *contract.Contract, lack access.Lack, issuer *authorization.Issuer,
) Policy {
	challenge := authorization.Challenge{
		Error:            authorization.ErrorInsufficientScope,
		Description:      "The access token lacks a scope that this tool needs.",
		Scopes:           issuer.AskAll(rules.Permissions),
		ResourceMetadata: d.Resource.MetadataURL(),
	}
	if lack.StepUp() {
		challenge.ACR, challenge.MaxAgeSeconds = rules.StepUp.ACR, rules.StepUp.MaxAgeSeconds
	}
	if lack.Scopes == nil {
		challenge.Error = authorization.ErrorInsufficientSignIn
		challenge.Description = "This tool needs a more recent or a stronger sign-in."
	}
	policy.PolicyDocument.Statement[0].Effect = "Deny"
	policy.Context = map[string]any{
		gatewayresponse.ContextChallenge: challenge.String(),
		gatewayresponse.ContextScope:     strings.Join(challenge.Scopes, " "),
	}
	return policy
}

// newPolicy allows all of the API's stage, in one statement: the decision is about this request alone, since the
// gateway keeps none, and the list of an API's methods would only grow.
func newPolicy(who *principal.Principal, resource string) Policy {
	return Policy{
		PrincipalID: principalID(who),
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{{
				Action: []string{"execute-api:Invoke"}, Effect: "Allow", Resource: []string{resource},
			}},
		},
		Context: gatewayContext(who),
	}
}

// principalID is what the gateway's logs call the caller: always the same for one, and no name.
func principalID(who *principal.Principal) string {
	digest := sha256.Sum256([]byte(who.Key()))
	return hex.EncodeToString(digest[:16])
}

// gatewayContext is the principal as the dispatcher reads it.
func gatewayContext(who *principal.Principal) map[string]any {
	values := map[string]any{}
	for key, value := range who.Context() {
		values[key] = value
	}
	return values
}

// stage is the ARN of everything in the API's stage, from a method's:
// arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH.
func stage(method string) (string, error) {
	api, rest, ok := strings.Cut(method, "/")
	name, _, more := strings.Cut(rest, "/")
	if !ok || !more || name == "" || !strings.HasPrefix(api, "arn:") {
		return "", fmt.Errorf("the event's methodArn %.200q is none of a method", method)
	}
	return api + "/" + name + "/*", nil
}
