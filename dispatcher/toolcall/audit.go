package toolcall

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"time"
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
	attrs := []slog.Attr{slog.String("outcome", outcome), slog.String("requestId", c.RequestID)}
	for name, value := range c.facts() {
		attrs = append(attrs, slog.Any(name, value))
	}
	if c.key != "" {
		attrs = append(attrs, slog.String("record", c.recordID().String()))
	}
	c.Audit.LogAttrs(ctx, slog.LevelInfo, event, append(attrs, more...)...)
}

// facts are who calls what: of the arguments only a digest, since they may hold what no log should.
func (c *call) facts() map[string]any {
	facts := map[string]any{
		"principal": c.Principal.Key(),
		"client":    c.Principal.ClientID,
		"tool":      c.entry.Tool.Name,
		"function":  c.entry.Function,
		"risk":      string(c.entry.Tool.Contract.Risk),
		"confirmed": c.confirmed,
		"dryRun":    c.dryRun,
		"replayed":  c.replayed,
		"arguments": hex.EncodeToString(c.digest[:]),
	}
	if trace := c.Params.Meta.Traceparent; trace != "" {
		facts["traceparent"] = shorten(trace)
	}
	return facts
}

// auditFacts are the facts in the form in which the ledger keeps them with the record; nil where none are wanted.
func (c *call) auditFacts() []byte {
	if c.entry.Tool.Contract.AuditEvent == "" {
		return nil
	}
	facts := c.facts()
	facts["event"], facts["requestId"] = c.entry.Tool.Contract.AuditEvent, c.RequestID
	encoded, err := json.Marshal(facts)
	if err != nil {
		panic("encoding audit facts: " + err.Error())
	}
	return encoded
}

// newNonce is 128 random bits as text.
func (c *call) newNonce() string { return rand.Text() }
