package toolcall

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"time"

	"patchbay/shared/ledger"
)

// auditAttempt writes the audit record of a call that is about to run, for the risks where a trace of it must be there
// even if nothing else of the call survives. Its durable form is the ledger's record, which is written before.
func (c *call) auditAttempt(ctx context.Context) {
	if c.entry.Tool.Contract.Risk.NeedsConfirmation() {
		c.audit(ctx, "attempt")
	}
}

// auditOutcome writes the audit record of a call that has ended, however it did.
func (c *call) auditOutcome(ctx context.Context) {
	if c.entry != nil {
		c.audit(ctx, string(c.outcome), slog.Float64("durationMs", float64(c.now().Sub(c.started))/float64(time.Millisecond)))
	}
}

func (c *call) audit(ctx context.Context, outcome string, more ...slog.Attr) {
	event := c.entry.Tool.Contract.AuditEvent
	if event == "" || c.Audit == nil {
		return
	}
	attrs := append(c.facts(), slog.String("outcome", outcome))
	if c.key != "" {
		attrs = append(attrs, slog.String("record", c.recordID().String()))
	}
	c.Audit.LogAttrs(ctx, slog.LevelInfo, event, append(attrs, more...)...)
}

// facts are who calls what: of the arguments only a digest, since they may hold what no log should.
func (c *call) facts() []slog.Attr {
	facts := append(make([]slog.Attr, 0, 16),
		slog.String("requestId", c.RequestID),
		slog.String("principal", c.Principal.Key()),
		slog.String("client", c.Principal.ClientID),
		slog.String("tool", c.entry.Tool.Name),
		slog.String("function", c.entry.Function),
		slog.String("risk", string(c.entry.Tool.Contract.Risk)),
		slog.String("arguments", c.argumentsDigest()),
		slog.Bool("confirmed", c.confirmed),
		slog.Bool("dryRun", c.dryRun),
		slog.Bool("replayed", c.replayed),
	)
	if trace := c.Params.Meta.Traceparent; trace != "" {
		facts = append(facts, slog.String("traceparent", shorten(trace)))
	}
	return facts
}

// argumentsDigest is that of the canonical arguments; of the bytes as they came where there is no canonical form, or
// none was needed.
func (c *call) argumentsDigest() string {
	digest := c.digest
	if digest == [sha256.Size]byte{} {
		var err error
		if digest, err = ledger.Digest(c.Params.Arguments); err != nil {
			digest = sha256.Sum256(c.Params.Arguments)
		}
	}
	return hex.EncodeToString(digest[:])
}

// auditFacts are the facts in the form in which the ledger keeps them with the record; nil where none are wanted.
func (c *call) auditFacts() []byte {
	event := c.entry.Tool.Contract.AuditEvent
	if event == "" {
		return nil
	}
	facts := map[string]any{"event": event}
	for _, fact := range c.facts() {
		facts[fact.Key] = fact.Value.Any()
	}
	encoded, err := json.Marshal(facts)
	if err != nil {
		panic("encoding audit facts: " + err.Error())
	}
	return encoded
}

// newNonce is 128 random bits as text.
func (c *call) newNonce() string { return rand.Text() }
