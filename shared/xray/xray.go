// Package xray reads the trace header that AWS services hand on, so that the log lines of one call can be found across
// API Gateway, the dispatcher and the tool. Standard library only: recording spans is left to whoever wants them.
package xray

import (
	"context"
	"strings"
)

// Header is the HTTP header with the trace context. Source: AWS X-Ray Developer Guide, "Tracing header".
const Header = "X-Amzn-Trace-Id"

// Root returns the trace's id, such as 1-67891233-abcdef012345678912345678, of a header's value, and "" where it has
// none: clients can send the header too, and what is no id must not get into logs under its name.
func Root(header string) string {
	for field := range strings.SplitSeq(header, ";") {
		if id, ok := strings.CutPrefix(strings.TrimSpace(field), "Root="); ok && isID(id) {
			return id
		}
	}
	return ""
}

// isID reports whether the text has the form 1-8 hex digits-24 hex digits.
func isID(text string) bool {
	if len(text) != 35 || text[:2] != "1-" || text[10] != '-' {
		return false
	}
	return strings.Trim(text[2:10]+text[11:], "0123456789abcdefABCDEF") == ""
}

// FromContext returns the id of the trace that a Lambda invocation belongs to, from the context that aws-lambda-go
// gives its handler; "" for any other context.
func FromContext(ctx context.Context) string {
	header, _ := ctx.Value("x-amzn-trace-id").(string)
	return Root(header)
}
