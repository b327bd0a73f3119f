package metrics

// Names of what the authorizer counts, for the deployment alone. Requests that it lets through are not counted: the
// function's invocations, less these, are they.
const (
	// Unauthorized counts requests without a good access token, which got a 401. Every client's first request is one.
	Unauthorized = "Unauthorized"
	// Denied counts tool calls whose token lacked a scope or a sign-in, which got a 403.
	Denied = "Denied"
	// AuthorizerErrors counts requests that could not be decided for a reason on this side: somebody has to look.
	AuthorizerErrors = "AuthorizerErrors"
)

// Decision is what the authorizer's decision about a request counts as: once in the metric of its name, or not at all.
type Decision struct{ Unauthorized, Denied, AuthorizerError bool }

// Decision writes the line of a decision, if there is anything to count. Cold starts are the dispatcher's alone.
func (w *Writer) Decision(decision Decision) {
	if w == nil || decision == (Decision{}) {
		return
	}
	l := w.line("", "")
	l.cold = false
	l.count(Unauthorized, decision.Unauthorized)
	l.count(Denied, decision.Denied)
	l.count(AuthorizerErrors, decision.AuthorizerError)
	w.write(l)
}
