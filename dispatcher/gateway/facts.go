package gateway

import (
	"context"
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

// Principal returns the caller whom the authorizer established. Without an authorizer the caller is anonymous; an
// authorizer that ran and named nobody is an error.
func Principal(ctx context.Context) (principal.Principal, error) {
	values := FromContext(ctx).Authorizer
	if values == nil {
		return principal.Principal{}, nil
	}
	return principal.FromContext(values)
}
