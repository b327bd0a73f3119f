package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/contract"
	"patchbay/shared/ledger"
)

// Limiter counts calls against a limit; see package ratelimit.
type Limiter interface {
	Take(ctx context.Context, who string, limit ratelimit.Limit) (wait time.Duration, err error)
}

// needsConfirmation reports whether a person must agree before the call runs.
func (c *call) needsConfirmation() bool {
	return c.entry.Tool.Contract.Confirmation == contract.ConfirmationAlways && !c.dryRun
}

// needsDryRun reports whether the call needs a fresh dry run of the same arguments before it.
func (c *call) needsDryRun() bool {
	return c.entry.Tool.Contract.DryRun == contract.DryRunRequired && !c.dryRun
}

// gates are the last refusals before the tool runs: a dry run that is missing, a confirmation that is asked for. A nil
// reply lets the call through. They come after the ledger, so that a spent confirmation or receipt never hides a
// recorded result.
func (c *call) gates(ctx context.Context) (reply, error) {
	if c.needsDryRun() {
		if refusal, err := c.checkReceipt(ctx); refusal != nil || err != nil {
			return refusal, err
		}
	}
	if c.needsConfirmation() && !c.confirmed {
		return c.askConfirmation(ctx)
	}
	return nil, nil
}

// admit counts the call against its contract's rate limit and the server's, at the moment when it would run: replays,
// refusals and rounds that only ask are never charged.
func (c *call) admit(ctx context.Context) (reply, error) {
	if limit := c.entry.Tool.Contract.RateLimit; limit != nil {
		window := time.Duration(limit.PerSeconds) * time.Second
		refusal, err := c.count(ctx, c.entry.Tool.Name, ratelimit.Limit{Calls: limit.Calls, Window: window})
		if refusal != nil || err != nil {
			return refusal, err
		}
	}
	if c.Limit.Calls > 0 {
		return c.count(ctx, "", c.Limit)
	}
	return nil, nil
}

// count counts the call of this caller; an empty tool counts all of them. Anonymous callers are told apart by address.
func (c *call) count(ctx context.Context, tool string, limit ratelimit.Limit) (reply, error) {
	who := tool + "\x00" + c.Principal.Key()
	if c.Principal.Anonymous() {
		who += "\x00" + c.SourceIP
	}
	wait, err := c.Limiter.Take(ctx, who, limit)
	if err != nil {
		return nil, c.unrecordable(err)
	}
	if wait == 0 {
		return nil, nil
	}
	what := "This server's tools"
	if tool != "" {
		what = tool
	}
	return c.toolError(outcomeLimited, "%s may be called %d times in %d seconds, and this caller has done so. Nothing "+
		"has run. Try again in %d seconds.", what, limit.Calls, int(limit.Window.Seconds()), int(wait.Seconds()+0.999)), nil
}

// receiptLifetime is how long a dry run allows the real call.
const receiptLifetime = 15 * time.Minute

// dryRunArgument is the argument that asks for a dry run.
const dryRunArgument = "dryRun"

// readDryRun tells whether the call asks for a dry run, as its arguments say after defaults.
func (c *call) readDryRun() {
	if c.entry.Tool.Contract.DryRun == contract.DryRunNone {
		return
	}
	c.dryRun = string(memberOf(c.arguments, dryRunArgument)) == "true"
}

// receiptID is what a receipt is kept under: caller, tool and arguments.
func (c *call) receiptID() ledger.ID {
	return ledger.NewID(c.Principal.Key(), c.entry.Tool.Name, fmt.Sprintf("dry run:%x", c.digest))
}

// keepReceipt notes that the arguments were tried, so that the real call may follow. A dry run that failed allows
// nothing.
func (c *call) keepReceipt(ctx context.Context) error {
	if c.entry.Tool.Contract.DryRun != contract.DryRunRequired || c.outcome != outcomeOK {
		return nil
	}
	return c.Ledger.PutReceipt(ctx, c.receiptID(), c.newNonce(), c.now().Add(receiptLifetime))
}

// checkReceipt looks for a fresh dry run of the same arguments, and once the call is about to run claims its receipt
// for the call's key: it enables one real call and no other.
func (c *call) checkReceipt(ctx context.Context) (reply, error) {
	receipt, ends, err := c.Ledger.Receipt(ctx, c.receiptID())
	if err != nil {
		return nil, c.unrecordable(err)
	}
	if receipt == "" {
		return c.toolError(outcomeDryRun, "%s runs only after a dry run of the same arguments in the last %d minutes. "+
			"Nothing has run. Call it with %s set to true first, look at what it would do, then repeat the call without.",
			c.entry.Tool.Name, int(receiptLifetime.Minutes()), dryRunArgument), nil
	}
	if c.needsConfirmation() && !c.confirmed {
		return nil, nil
	}
	own := c.recordID()
	holder, err := c.Ledger.Claim(ctx, receipt, own, ends)
	if err != nil {
		return nil, c.unrecordable(err)
	}
	if holder != own {
		return c.toolError(outcomeDryRun, "The last dry run of %s with these arguments has already been followed by the one "+
			"real call that it allows. Nothing has run again. Make another dry run first.", c.entry.Tool.Name), nil
	}
	return nil, nil
}

// recordID is what the call is recorded under.
func (c *call) recordID() ledger.ID {
	return ledger.NewID(c.Principal.Key(), c.entry.Tool.Name, c.key)
}

// receiptKeyOf finds the key of a call that has no other: the receipt that allows it.
func (c *call) receiptKeyOf(ctx context.Context) error {
	receipt, _, err := c.Ledger.Receipt(ctx, c.receiptID())
	if err != nil {
		return c.unrecordable(err)
	}
	if receipt != "" {
		c.key = kindReceipt + receipt
	}
	return nil
}

var errUnreadableSchema = errors.New("the schema is not an object")

// secretArguments returns the names of top-level arguments whose schema, at any depth, says that they are secret:
// writeOnly, or format password. A reference counts when anything in $defs is secret.
func secretArguments(inputSchema json.RawMessage) (map[string]bool, error) {
	var schema struct {
		Properties  map[string]json.RawMessage `json:"properties"`
		Defs        json.RawMessage            `json:"$defs"`
		Definitions json.RawMessage            `json:"definitions"`
	}
	if err := json.Unmarshal(inputSchema, &schema); err != nil {
		return nil, errUnreadableSchema
	}
	shared := mentionsSecret(schema.Defs) || mentionsSecret(schema.Definitions)
	secret := map[string]bool{}
	for name, property := range schema.Properties {
		if mentionsSecret(property) || (shared && strings.Contains(string(property), `"$ref"`)) {
			secret[name] = true
		}
	}
	return secret, nil
}

func mentionsSecret(schema json.RawMessage) bool {
	var value any
	if len(schema) == 0 || json.Unmarshal(schema, &value) != nil {
		return false
	}
	return holdsSecret(value)
}

func holdsSecret(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		if v["writeOnly"] == true || v["format"] == "password" {
			return true
		}
		for _, member := range v {
			if holdsSecret(member) {
				return true
			}
		}
	case []any:
		for _, member := range v {
			if holdsSecret(member) {
				return true
			}
		}
	}
	return false
}
