package toolcall

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
)

// headerIdempotencyKey carries a caller's key. Source: draft-ietf-httpapi-idempotency-key-header.
const headerIdempotencyKey = "Idempotency-Key"

// Kinds of keys that are made here. A kind goes before the key, so that none meets a caller's own.
const (
	kindArguments = "arguments:"

	kindConfirmation = "confirmation:"
	kindReceipt      = "receipt:"
)

// identify says under which key the call is recorded, if it is recorded at all: the one that travelled through its
// rounds, else the caller's own, else in mode "arguments" the arguments themselves. A call that a person confirms has
// its confirmation's nonce, one that a dry run allows the receipt's.
func (c *call) identify(ctx context.Context) (reply, error) {
	c.readDryRun()
	rules := &c.entry.Tool.Contract
	if !rules.Recorded() && c.key == "" {
		return nil, nil
	}
	digest, err := ledger.Digest(c.Params.Arguments)
	if err != nil {
		return c.toolError(outcomeInvalid, "The call of %s cannot be told from others: %s", c.entry.Tool.Name, err), nil
	}
	c.digest = digest
	if c.dryRun {
		c.key = ""
		return nil, nil
	}
	own, err := c.callersKey(rules.Idempotency.KeyArgument)
	if err != nil {
		return nil, c.refuse(outcomeKey, err)
	}
	switch {
	case c.key != "":
	case own != "":
		c.key = ledger.CallerKey(own)
	case rules.Idempotency.Mode == contract.IdempotencyArguments:
		c.key = kindArguments + hex.EncodeToString(digest[:])
	case c.needsConfirmation():
		// Its nonce will be the key, once somebody has confirmed.
	case c.needsDryRun():
		return nil, c.receiptKeyOf(ctx)
	case rules.Idempotency.WhenAbsent == contract.WhenAbsentRefuse:
		return c.toolError(outcomeNoKey, "%s runs only under an idempotency key, so that it never runs twice by mistake. "+
			"Nothing has run. Call it again with %s: any text that is new for every new wish and the same for every repeat.",
			c.entry.Tool.Name, whereKeysGo(rules.Idempotency.KeyArgument)), nil
	}
	return nil, nil
}

func whereKeysGo(argument string) string {
	if argument != "" {
		return "the argument " + argument
	}
	return "the header " + headerIdempotencyKey + " or _meta[\"" + mcp.MetaIdempotencyKey + "\"]"
}

// callersKey is the key that the caller gave, in whichever of the three places; several must agree.
func (c *call) callersKey(argument string) (string, error) {
	var keys []string
	for _, value := range c.Header.Values(headerIdempotencyKey) {
		keys = append(keys, unquoted(strings.Trim(value, " \t")))
	}
	if c.Params.Meta.HasIdempotencyKey {
		keys = append(keys, c.Params.Meta.IdempotencyKey)
	}
	if value := memberOf(c.arguments, argument); argument != "" && value != nil {
		var key string
		if err := json.Unmarshal(value, &key); err != nil {
			return "", mcp.InvalidParams("Invalid params: the argument %s is an idempotency key and must be a string", argument)
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		if err := ledger.CheckKey(key); err != nil {
			return "", mcp.InvalidParams("Invalid params: %s", err)
		}
		if key != keys[0] {
			return "", mcp.InvalidParams("Invalid params: the call carries two idempotency keys that differ; send one")
		}
	}
	if len(keys) == 0 {
		return "", nil
	}
	return keys[0], nil
}

// unquoted takes the quotes off a key that is written as a structured field's string, as the draft has it; a key
// without them is taken as it is.
func unquoted(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value[1 : len(value)-1])
}
