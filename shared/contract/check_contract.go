package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var failureCode = lazily(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func (c *checker) checkContract(t *Tool) {
	k := &t.Contract
	c.checkConsent(k)
	c.checkStepUp(k.StepUp)
	c.checkPermissions(k)
	c.checkSideEffects(k.SideEffects)
	c.checkAuditEvent(k.AuditEvent)
	c.checkFailureModes(k.FailureModes)
	c.checkIdempotency(&k.Idempotency)
	c.checkDryRun(k.DryRun)
	c.checkRateLimit(k.RateLimit)
	c.checkResultSize(k)
	c.checkExecution(&k.Execution)
	c.checkFunction(k)
	c.checkArgumentsPayload(k)
}

// checkConsent compares risk, autonomous and confirmation, three ways to say the same.
func (c *checker) checkConsent(k *Contract) {
	const pointer = "/contract/confirmation"
	never := c.has("contract", "confirmation") && k.Confirmation == ConfirmationNever
	if never && k.Risk.NeedsConfirmation() {
		c.report("risk-confirmation", pointer, `"always", or no field`, "calls of %s risk are always confirmed", k.Risk)
	}
	saysAutonomous := c.has("contract", "autonomous")
	if never && saysAutonomous && !k.Autonomous {
		c.report("autonomous-confirmation", pointer, `"always", or no field`, "a tool that is not autonomous is confirmed")
	}
	if saysAutonomous && k.Autonomous && k.Confirmation == ConfirmationAlways {
		c.report("autonomous-confirmation", "/contract/autonomous", "false, or no field",
			"a tool whose calls are confirmed is not autonomous")
	}
}

func (c *checker) checkStepUp(s *StepUp) {
	const pointer = "/contract/stepUp"
	if s == nil {
		return
	}
	if !c.has("contract", "stepUp", "acr") && !c.has("contract", "stepUp", "maxAgeSeconds") {
		c.report("step-up", pointer, `"acr", "maxAgeSeconds" or both`, "the step-up demands nothing")
	}
	if c.has("contract", "stepUp", "acr") && !IsScope(s.ACR) {
		c.report("step-up", pointer+"/acr", "one value without spaces, quotes or backslashes", "%q is no acr value", s.ACR)
	}
	if c.has("contract", "stepUp", "maxAgeSeconds") {
		c.checkRange(pointer+"/maxAgeSeconds", s.MaxAgeSeconds, 1, int(365*24*time.Hour/time.Second))
	}
}

func (c *checker) checkPermissions(k *Contract) {
	const pointer = "/contract/permissions"
	for i, scope := range k.Permissions {
		if !IsScope(scope) {
			c.report("scope-syntax", item(pointer, i), "printable ASCII without spaces, quotes and backslashes",
				"%q is no OAuth scope", scope)
		}
	}
	c.checkDistinct(k.Permissions, pointer)
	if k.Visibility == VisibilityPermitted && len(k.Permissions) == 0 {
		c.report("visibility-permissions", "/contract/visibility", `"always", or a list of permissions`,
			"the tool is hidden from those who lack its permissions, but has none")
	}
}

// IsScope reports whether s is a scope-token (RFC 6749, section 3.3) without a single quote, which would end the fixed
// header value that names it in API Gateway's response parameters.
func IsScope(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == '"' || s[i] == '\'' || s[i] == '\\' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

func (c *checker) checkSideEffects(effects []string) {
	for i, effect := range effects {
		if strings.TrimSpace(effect) == "" {
			c.report("side-effects", item("/contract/sideEffects", i), "a sentence, or no entry", "this says nothing")
		}
	}
	c.checkDistinct(effects, "/contract/sideEffects")
}

func (c *checker) checkAuditEvent(event string) {
	if c.has("contract", "auditEvent") && !isToolName(event, 128, "_-.") {
		c.report("audit-event", "/contract/auditEvent", nameForm, "%q is no event name", event)
	}
}

func (c *checker) checkFailureModes(modes []FailureMode) {
	codes := make([]string, len(modes))
	for i, mode := range modes {
		at := item("/contract/failureModes", i)
		codes[i] = mode.Code
		if !failureCode.match(mode.Code) || len(mode.Code) > 64 {
			c.report("failure-mode", at+"/code", `snake_case of at most 64 characters, like "not_found"`,
				"%q is no code", mode.Code)
		}
		if strings.TrimSpace(mode.Description) == "" {
			c.report("failure-mode", at+"/description", "when this happens, and what helps",
				"the failure mode %q is not described", mode.Code)
		}
	}
	c.checkDistinct(codes, "/contract/failureModes")
}

func (c *checker) checkIdempotency(i *Idempotency) {
	const pointer = "/contract/idempotency"
	if i.Mode == IdempotencyNone {
		for _, key := range []string{"keyArgument", "whenAbsent", "ttl"} {
			if c.has("contract", "idempotency", key) {
				c.report("idempotency-unused", child(pointer, key), `"mode": "key" or "arguments", or no such field`,
					"%s means nothing while no calls are recorded", key)
			}
		}
		return
	}
	c.checkKeyArgument(i)
	if span, ok := i.TTL.parse(); !ok || span < time.Minute || span > 365*24*time.Hour {
		c.report("ttl-range", pointer+"/ttl", `"1m" to "365d": a whole number and s, m, h or d`,
			"%q is no time to live", i.TTL)
	}
}

func (c *checker) checkKeyArgument(i *Idempotency) {
	if !c.has("contract", "idempotency", "keyArgument") {
		return
	}
	typ := c.root.at("inputSchema", "properties", i.KeyArgument, "type")
	if typ.text() != "string" {
		c.report("key-argument", "/contract/idempotency/keyArgument", "the name of a string in inputSchema.properties",
			"there is no string parameter %q", i.KeyArgument)
	}
}

func (c *checker) checkDryRun(d DryRun) {
	if d != DryRunNone && c.root.at("inputSchema", "properties", "dryRun", "type").text() != "boolean" {
		c.report("dry-run-argument", "/contract/dryRun", `"none", or a boolean parameter "dryRun" in inputSchema.properties`,
			"a model asks for a dry run by the argument dryRun, but the schema has none")
	}
}

func (c *checker) checkRateLimit(r *RateLimit) {
	if r == nil {
		return
	}
	c.checkRange("/contract/rateLimit/calls", r.Calls, 1, 1_000_000)
	c.checkRange("/contract/rateLimit/perSeconds", r.PerSeconds, 1, int(24*time.Hour/time.Second))
}

func (c *checker) checkResultSize(k *Contract) {
	const pointer = "/contract/maxResultBytes"
	if size, bound := k.MaxResultBytes, k.resultBound(); bound < size && size <= MaxResultBytes {
		c.report("result-size-recorded", pointer, "at most "+strconv.Itoa(bound),
			"a result that is recorded must fit into the record")
		return
	}
	c.checkRange(pointer, k.MaxResultBytes, 1, MaxResultBytes)
}

func (c *checker) checkExecution(e *Execution) {
	const pointer = "/contract/execution"
	c.checkRange(pointer+"/timeoutSeconds", e.TimeoutSeconds, 1, MaxTimeoutSeconds)
	c.checkRange(pointer+"/memoryMB", e.MemoryMB, MinMemoryMB, MaxMemoryMB)
	c.checkRange(pointer+"/concurrency", e.Concurrency, 0, MaxConcurrency)
}

func (c *checker) checkRange(pointer string, value, least, most int) {
	if value < least || value > most {
		c.report("number-range", pointer, fmt.Sprintf("%d to %d", least, most), "%d is out of range", value)
	}
}

// checkDistinct reports values that a list has twice.
func (c *checker) checkDistinct(list []string, pointer string) {
	for i, value := range list {
		if value != "" && slices.Contains(list[:i], value) {
			c.report("repeated-value", item(pointer, i), "each value once", "%q is already in the list", value)
		}
	}
}
