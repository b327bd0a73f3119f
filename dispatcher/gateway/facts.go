package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"patchbay/shared/principal"
)

// Facts are what the front door says of a request beside the request itself.
type Facts struct {
	// RequestID is the front door's id of the request, which its access log and its x-amzn-RequestId header carry too.
	RequestID string
	// Received is when the front door got the request, by its own clock, to the millisecond; zero when it does not say.
	Received time.Time
	// SourceIP is the address that connected to the front door.
	SourceIP string
	// Authorizer is the context that a Lambda authorizer returned, numbers and booleans as text, objects and lists left
	// out; nil when no authorizer ran.
	Authorizer map[string]string
}

type factsKey struct{}

func newContext(ctx context.Context, facts Facts) context.Context {
	return context.WithValue(ctx, factsKey{}, &facts)
}

// FromContext returns the facts of the request that ctx belongs to; zero when it came through no front door.
func FromContext(ctx context.Context) Facts {
	if facts, ok := ctx.Value(factsKey{}).(*Facts); ok {
		return *facts
	}
	return Facts{}
}

// Principal returns the caller that the authorizer established. It reads these keys of the authorizer's context, each
// of them optional but for one of the first two: subject, clientId, issuer, scopes (separated by spaces), authTime
// (seconds since the Unix epoch), acr, tenant. Without an authorizer the caller is anonymous; an authorizer that ran
// and named nobody is an error, so that a mistake in it never lets callers in as anonymous.
func Principal(ctx context.Context) (principal.Principal, error) {
	values := FromContext(ctx).Authorizer
	if values == nil {
		return principal.Principal{}, nil
	}
	p := principal.Principal{
		Subject:  values["subject"],
		Issuer:   values["issuer"],
		ClientID: values["clientId"],
		Scopes:   strings.Fields(values["scopes"]),
		ACR:      values["acr"],
		Tenant:   values["tenant"],
	}
	if p.Subject == "" && p.ClientID == "" {
		return principal.Principal{}, errors.New("authorizer context: want subject or clientId, got neither")
	}
	if text := values["authTime"]; text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return principal.Principal{}, fmt.Errorf("authorizer context: authTime: want seconds, got %q", text)
		}
		p.AuthTime = seconds
	}
	return p, nil
}
