package decide

import (
	"context"
	"log/slog"

	"patchbay/dispatcher/authorizer/token"
	"patchbay/dispatcher/metrics"
	"patchbay/shared/access"
	"patchbay/shared/principal"
	"patchbay/shared/xray"
)

// outcome is what became of a request.
type outcome string

const (
	outcomeAllowed      outcome = "allowed"
	outcomeUnauthorized outcome = "unauthorized"
	outcomeDenied       outcome = "denied"
	outcomeFailed       outcome = "failed"
)

// The reasons beside those of package token.
const (
	reasonNoToken = "no-token"
	reasonScope   = "insufficient-scope"
	reasonSignIn  = "insufficient-sign-in"
)

// record is what one decision leaves in the log. The token is never part of it, nor is its subject: the dispatcher's
// records have that, of calls that were made.
type record struct {
	requestID string
	outcome   outcome
	reason    string
	// These are a token's own words where the outcome is unauthorized, and may be made up.
	issuer, clientID, keyID string
	tool                    string
	missing                 []string
	principal               principal.Principal
	err                     error
}

func (r *record) refused(refusal *token.Refusal) {
	r.outcome, r.reason = outcomeUnauthorized, string(refusal.Reason)
	r.issuer, r.clientID, r.keyID = refusal.Issuer, refusal.ClientID, refusal.KeyID
}

func (r *record) verified(v *token.Verified) {
	r.principal = v.Principal
	r.issuer, r.clientID, r.keyID = v.Principal.Issuer, v.Principal.ClientID, v.KeyID
}

func (r *record) denied(lack access.Lack) {
	r.outcome, r.reason, r.missing = outcomeDenied, reasonScope, lack.Scopes
	if lack.Scopes == nil {
		r.reason = reasonSignIn
	}
}

// write writes the line, and counts.
func (d *Decider) write(ctx context.Context, r *record) {
	level := slog.LevelInfo
	attributes := []slog.Attr{
		slog.String("outcome", string(r.outcome)), slog.String("requestId", r.requestID),
	}
	for _, text := range []struct{ key, value string }{
		{"traceId", xray.FromContext(ctx)}, {"reason", r.reason}, {"issuer", r.issuer}, {"clientId", r.clientID},
		{"kid", r.keyID}, {"tool", r.tool},
	} {
		if text.value != "" {
			attributes = append(attributes, slog.String(text.key, text.value))
		}
	}
	if r.missing != nil {
		attributes = append(attributes, slog.Any("missing", r.missing))
	}
	if r.err != nil {
		level = slog.LevelError
		attributes = append(attributes, slog.String("error", r.err.Error()))
	}
	d.Log.LogAttrs(ctx, level, "authorization", attributes...)
	d.Metrics.Decision(metrics.Decision{
		Unauthorized: r.outcome == outcomeUnauthorized, Denied: r.outcome == outcomeDenied,
		AuthorizerError: r.outcome == outcomeFailed,
	})
}
