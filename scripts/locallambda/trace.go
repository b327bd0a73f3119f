package locallambda

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"patchbay/shared/xray"
)

type traceKey struct{}

// WithTrace returns a context in which Service.Invoke goes on with the trace of an X-Ray header, as Lambda does with
// that of API Gateway. A header without a trace changes nothing: an invocation begins its own then.
func WithTrace(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, traceKey{}, xray.Root(header))
}

// continueTrace makes the header of an invocation: in the context's trace, if it has one, under a segment of its own.
func continueTrace(ctx context.Context) string {
	if root, _ := ctx.Value(traceKey{}).(string); root != "" {
		return traceHeader(root)
	}
	return newTrace()
}

// newTrace makes the header of a trace that begins here.
func newTrace() string {
	return traceHeader(fmt.Sprintf("1-%08x-%s", time.Now().Unix(), randomHex(12)))
}

// traceHeader makes an X-Ray header that says that nobody records it.
// Source: docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html, "Tracing header".
func traceHeader(root string) string {
	return "Root=" + root + ";Parent=" + randomHex(8) + ";Sampled=0"
}

func randomHex(bytes int) string {
	random := make([]byte, bytes)
	rand.Read(random) // never returns an error
	return hex.EncodeToString(random)
}
