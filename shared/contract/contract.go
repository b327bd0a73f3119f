package contract

import (
	"strconv"
	"strings"
	"time"
)

// Bounds of contract fields. Lambda's own: configuration-function-common.html, gettingstarted-limits.html.
const (
	// MaxTimeoutSeconds is the longest that a Lambda function can run.
	MaxTimeoutSeconds = 900
	// MinMemoryMB and MaxMemoryMB are what a Lambda function can be given.
	MinMemoryMB = 128
	MaxMemoryMB = 10240
	// MaxConcurrency keeps typing mistakes out; what counts is the concurrency of the AWS account, 1,000 until raised.
	MaxConcurrency = 10_000
	// MaxResultBytes is the largest answer of a synchronous invocation.
	MaxResultBytes = 6 << 20
	// MaxRecordedResultBytes keeps a recorded answer, with what is stored beside it, inside one DynamoDB item (400 KB).
	MaxRecordedResultBytes = 256 << 10
	// MaxEnvironmentBytes is the size of all environment variables of a function, names and values.
	MaxEnvironmentBytes = 4 << 10
)

// Contract is what tool.json says under "contract": how the dispatcher treats calls of the tool, and what its function
// needs. The values are complete: Parse has filled in every default, so that nobody needs to know one.
type Contract struct {
	// Category groups tools for people; it is not sent to clients.
	Category string `json:"category,omitempty"`
	// Example marks a tool that only shows how one is made: it runs locally, and is deployed where the deployment's
	// settings ask for examples.
	Example bool `json:"example,omitempty"`
	Risk    Risk `json:"risk"`
	// Autonomous says that the tool may be called without a person's consent. It is never true beside a Confirmation.
	Autonomous   bool         `json:"autonomous"`
	Confirmation Confirmation `json:"confirmation"`
	// StepUp asks for a fresher or stronger sign-in; nil for none.
	StepUp *StepUp `json:"stepUp,omitempty"`
	// Permissions are the OAuth scopes (RFC 6749, section 3.3) of which a caller needs all.
	Permissions []string   `json:"permissions,omitempty"`
	Visibility  Visibility `json:"visibility"`
	// SideEffects are sentences for people: what a call changes, and what a repeated call does.
	SideEffects []string `json:"sideEffects,omitempty"`
	// AuditEvent names the audit record of a call; empty when none is written. From medium risk on it is never empty.
	AuditEvent   string        `json:"auditEvent,omitempty"`
	FailureModes []FailureMode `json:"failureModes,omitempty"`
	Idempotency  Idempotency   `json:"idempotency"`
	DryRun       DryRun        `json:"dryRun"`
	// RateLimit bounds the calls of one principal; nil for no limit.
	RateLimit *RateLimit `json:"rateLimit,omitempty"`
	// MaxResultBytes is the largest result, as JSON, that a client is sent.
	MaxResultBytes int       `json:"maxResultBytes"`
	Execution      Execution `json:"execution"`
	Function       Function  `json:"function"`
}

// Risk is how much harm a call can do.
type Risk string

// Low and medium run freely, medium is audited; high and critical are confirmed; a forbidden tool does not exist for
// clients.
const (
	RiskLow       Risk = "low"
	RiskMedium    Risk = "medium"
	RiskHigh      Risk = "high"
	RiskCritical  Risk = "critical"
	RiskForbidden Risk = "forbidden"
)

func (Risk) values() []string { return []string{"low", "medium", "high", "critical", "forbidden"} }

// NeedsConfirmation reports whether a tool of this risk never runs unconfirmed.
func (r Risk) NeedsConfirmation() bool { return r == RiskHigh || r == RiskCritical }

// audited reports whether calls of this risk leave an audit record.
func (r Risk) audited() bool { return r == RiskMedium || r.NeedsConfirmation() }

// Confirmation says when a person is asked before the call.
type Confirmation string

// A tool's calls are confirmed never or always.
const (
	ConfirmationNever  Confirmation = "never"
	ConfirmationAlways Confirmation = "always"
)

func (Confirmation) values() []string { return []string{"never", "always"} }

// StepUp is the authentication that a call demands beside its scopes. Source: RFC 9470.
type StepUp struct {
	// ACR is the authentication context class reference; empty when any will do.
	ACR string `json:"acr,omitempty"`
	// MaxAgeSeconds is how long ago the person may have signed in; 0 when it does not matter.
	MaxAgeSeconds int `json:"maxAgeSeconds,omitempty"`
}

// Visibility says to whom a tool exists.
type Visibility string

// A tool is visible always, or only to callers who have its permissions; to others it is an unknown tool then.
const (
	VisibilityAlways    Visibility = "always"
	VisibilityPermitted Visibility = "permitted"
)

func (Visibility) values() []string { return []string{"always", "permitted"} }

// FailureMode is one way in which a tool says that it failed.
type FailureMode struct {
	// Code is what the tool gives to tool.Fail.
	Code        string `json:"code"`
	Description string `json:"description"`
	Effect      Effect `json:"effect"`
}

// Effect says whether something may have happened before a failure.
type Effect string

// With no effect the call may be repeated under the same key; unknown keeps the key taken.
const (
	EffectNone    Effect = "none"
	EffectUnknown Effect = "unknown"
)

func (Effect) values() []string { return []string{"none", "unknown"} }

// Idempotency says how the dispatcher recognizes a call that was sent again.
type Idempotency struct {
	Mode IdempotencyMode `json:"mode"`
	// KeyArgument names the top-level string argument in which a model can send a key; empty for none.
	KeyArgument string `json:"keyArgument,omitempty"`
	// WhenAbsent is what happens to a call without a key; empty in mode none.
	WhenAbsent WhenAbsent `json:"whenAbsent,omitempty"`
	// TTL is how long an outcome is remembered; empty in mode none.
	TTL Duration `json:"ttl,omitempty"`
}

// IdempotencyMode says where the key of a call comes from.
type IdempotencyMode string

// No calls are recorded; calls with a caller's key are; or all calls are, by the digest of their arguments where no key
// was sent.
const (
	IdempotencyNone      IdempotencyMode = "none"
	IdempotencyKey       IdempotencyMode = "key"
	IdempotencyArguments IdempotencyMode = "arguments"
)

func (IdempotencyMode) values() []string { return []string{"none", "key", "arguments"} }

// WhenAbsent says what happens to a call without an idempotency key.
type WhenAbsent string

// The call is run unrecorded, or refused.
const (
	WhenAbsentRun    WhenAbsent = "run"
	WhenAbsentRefuse WhenAbsent = "refuse"
)

func (WhenAbsent) values() []string { return []string{"run", "refuse"} }

// DryRun says whether a call can be rehearsed by the argument "dryRun".
type DryRun string

// The tool has no dry run; has one; or makes no real call without the receipt of a fresh one.
const (
	DryRunNone      DryRun = "none"
	DryRunSupported DryRun = "supported"
	DryRunRequired  DryRun = "required"
)

func (DryRun) values() []string { return []string{"none", "supported", "required"} }

// RateLimit allows Calls executions per principal in each window of PerSeconds.
type RateLimit struct {
	Calls      int `json:"calls"`
	PerSeconds int `json:"perSeconds"`
}

// Execution is how the function runs. For an existing function only TimeoutSeconds and Streaming have a meaning.
type Execution struct {
	// TimeoutSeconds is the function's timeout and how long the dispatcher waits for it.
	TimeoutSeconds int `json:"timeoutSeconds"`
	MemoryMB       int `json:"memoryMB"`
	// Concurrency is the reserved concurrency; 0 shares the account's.
	Concurrency int `json:"concurrency,omitempty"`
	// Streaming says that the tool reports progress: it is invoked with a response stream when the caller asks for it.
	Streaming bool    `json:"streaming,omitempty"`
	Network   Network `json:"network"`
}

// Network says what a function can reach.
type Network string

// A function reaches the internet from Lambda's own network, or runs in the VPC that the deployment's settings name.
const (
	NetworkInternet Network = "internet"
	NetworkVPC      Network = "vpc"
)

func (Network) values() []string { return []string{"internet", "vpc"} }

// Function is the Lambda function behind the tool: an existing one, known by its ARN, or the folder's own.
type Function struct {
	// ARN is of an existing function, with a version or an alias, or "local:" and a name in the local stack; empty for
	// the folder's own function.
	ARN string `json:"arn,omitempty"`
	// Payload is what an existing function is sent; always the envelope for the folder's own.
	Payload Payload `json:"payload"`
	// Runtime is the language of the folder's own function; empty for an existing one.
	Runtime Runtime `json:"runtime,omitempty"`
	// Handler is Lambda's handler name, for example "main.handler"; empty for Go, whose program is the handler.
	Handler string `json:"handler,omitempty"`
	// Build is the command, with its arguments, that makes the function's package in the folder; nil for the default.
	Build []string `json:"build,omitempty"`
	// Environment is variables that are no secrets.
	Environment map[string]string `json:"environment,omitempty"`
	// Secrets are the names of the secrets that the function may read; where each one lies is the deployment's setting.
	Secrets []string `json:"secrets,omitempty"`
	// State are the namespaces in which the function keeps state handles.
	State []string `json:"state,omitempty"`
}

// Local returns the name of a function that exists in the local stack alone; "" and false for any other.
func (f Function) Local() (name string, ok bool) {
	if name, ok = strings.CutPrefix(f.ARN, localPrefix); ok {
		return name, true
	}
	return "", false
}

// Payload is the event that a function is sent.
type Payload string

// A function gets Patchbay's envelope, or the arguments object alone.
const (
	PayloadEnvelope  Payload = "envelope"
	PayloadArguments Payload = "arguments"
)

func (Payload) values() []string { return []string{"envelope", "arguments"} }

// Runtime is the language of a function.
type Runtime string

// The languages that a folder's own function can be written in.
const (
	RuntimeGo     Runtime = "go"
	RuntimeNodeJS Runtime = "nodejs"
	RuntimePython Runtime = "python"
)

func (Runtime) values() []string { return []string{"go", "nodejs", "python"} }

// Duration is a time span as authors write it: a whole number and one unit, s, m, h or d, like "90s" or "30d".
type Duration string

// Duration returns the span; 0 when it is empty or malformed, which Parse has refused.
func (d Duration) Duration() time.Duration {
	span, _ := d.parse()
	return span
}

func (d Duration) parse() (time.Duration, bool) {
	if d == "" {
		return 0, false
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	unit, ok := units[d[len(d)-1]]
	count, err := strconv.ParseUint(string(d[:len(d)-1]), 10, 31)
	if !ok || err != nil || d[0] == '0' || count > uint64(maxDuration/unit) {
		return 0, false
	}
	return time.Duration(count) * unit, true
}

// maxDuration is longer than any field allows and short enough that no sum of two overflows.
const maxDuration = 100 * 365 * 24 * time.Hour

// defaults is a contract that says nothing.
func defaults() Contract {
	return Contract{
		Risk:         RiskLow,
		Autonomous:   true,
		Confirmation: ConfirmationNever,
		Visibility:   VisibilityAlways,
		Idempotency:  Idempotency{Mode: IdempotencyNone},
		DryRun:       DryRunNone,
		Execution:    Execution{TimeoutSeconds: 10, MemoryMB: MinMemoryMB, Network: NetworkInternet},
		Function:     Function{Payload: PayloadEnvelope},
	}
}

// complete fills in the defaults that follow from other fields. given says which fields the author wrote.
func (c *Contract) complete(tool string, given func(keys ...string) bool) {
	if !given("confirmation") && (c.Risk.NeedsConfirmation() || !c.Autonomous) {
		c.Confirmation = ConfirmationAlways
	}
	if !given("autonomous") {
		c.Autonomous = c.Confirmation == ConfirmationNever
	}
	if c.AuditEvent == "" && c.Risk.audited() {
		c.AuditEvent = tool
	}
	for i := range c.FailureModes {
		setDefault(&c.FailureModes[i].Effect, EffectUnknown)
	}
	c.Idempotency.complete()
	if !given("maxResultBytes") {
		c.MaxResultBytes = c.resultBound()
	}
	if c.Function.ARN == "" {
		setDefault(&c.Function.Runtime, RuntimeGo)
	}
}

func (i *Idempotency) complete() {
	if i.Mode == IdempotencyNone {
		return
	}
	setDefault(&i.WhenAbsent, WhenAbsentRun)
	setDefault(&i.TTL, "24h")
}

// Recorded reports whether calls are recorded in the ledger: for their repeats, or because a confirmation or a dry run
// allows one run and no more.
func (c *Contract) Recorded() bool {
	return c.Idempotency.Mode != IdempotencyNone || c.Confirmation == ConfirmationAlways || c.DryRun == DryRunRequired
}

// resultBound is the largest maxResultBytes that the contract may ask for.
func (c *Contract) resultBound() int {
	if c.Recorded() {
		return MaxRecordedResultBytes
	}
	return MaxResultBytes
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
