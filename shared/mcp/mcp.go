// Package mcp holds the wire vocabulary of the Model Context Protocol that Patchbay speaks: revisions, header and
// _meta names, types, and errors with the HTTP status that each is answered with.
//
// Source: https://modelcontextprotocol.io/specification/2026-07-28 and, for clients that still open with initialize,
// the revisions back to 2024-11-05.
package mcp

import "slices"

// Protocol revisions. Modern ones carry version and capabilities in every request (basic/versioning#terminology).
const (
	Version20260728 = "2026-07-28"
	Version20251125 = "2025-11-25"
	Version20250618 = "2025-06-18"
	Version20250326 = "2025-03-26"
	Version20241105 = "2024-11-05"
)

// LatestLegacy is what initialize answers to a client that asks for a version nobody here knows
// (2025-11-25, basic/lifecycle#version-negotiation).
const LatestLegacy = Version20251125

// ModernVersions returns the revisions that are served without a handshake, newest first.
func ModernVersions() []string { return []string{Version20260728} }

// LegacyVersions returns the revisions that open with initialize, newest first.
func LegacyVersions() []string {
	return []string{Version20251125, Version20250618, Version20250326, Version20241105}
}

// IsModern reports whether version is a revision with per-request metadata that this server speaks.
func IsModern(version string) bool { return version == Version20260728 }

// IsLegacy reports whether version is a revision with an initialize handshake that this server speaks.
func IsLegacy(version string) bool { return slices.Contains(LegacyVersions(), version) }

// Methods and notifications. Source: schema 2026-07-28; initialize and ping are of the earlier revisions.
const (
	MethodDiscover            = "server/discover"
	MethodToolsList           = "tools/list"
	MethodToolsCall           = "tools/call"
	MethodSubscriptionsListen = "subscriptions/listen"
	MethodInitialize          = "initialize"
	MethodPing                = "ping"

	NotificationProgress     = "notifications/progress"
	NotificationAcknowledged = "notifications/subscriptions/acknowledged"
)

// Keys of _meta. Source: basic/index#meta.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaProgressToken      = "progressToken"
	MetaTraceparent        = "traceparent"
	MetaTracestate         = "tracestate"
	MetaBaggage            = "baggage"

	// MetaFailure holds {"code": …}, the declared failure mode of a tool error; Patchbay's own.
	MetaFailure = "dev.patchbay/failure"
	// MetaIdempotencyKey is a request's idempotency key, a string; Patchbay's own.
	MetaIdempotencyKey = "dev.patchbay/idempotencyKey"
	// MetaReplayed is true in a result that was recorded by an earlier call with the same key; Patchbay's own.
	MetaReplayed = "dev.patchbay/replayed"
	// MetaDryRun is true in the result of a dry run; Patchbay's own.
	MetaDryRun = "dev.patchbay/dryRun"
	// MetaSideEffects lists, in a tool's result, what the call has changed, as texts; Patchbay's own. In a dry run it is
	// empty, or the tool has a defect.
	MetaSideEffects = "dev.patchbay/sideEffects"
	// MetaReplayUntil is until when a result may be replayed, an RFC 3339 time; Patchbay's own.
	MetaReplayUntil = "dev.patchbay/replayUntil"
)

// Values of cacheScope. Source: server/utilities/caching#cache-scope-field.
const (
	CachePublic  = "public"
	CachePrivate = "private"
)
