package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"patchbay/shared/access"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

// capabilities is what the server offers: tools, whose changes it does not announce yet.
var capabilities = json.RawMessage(`{"tools":{}}`)

// discover answers server/discover. Source: server/discover#response.
func (ex *exchange) discover() (json.RawMessage, error) {
	return json.Marshal(struct {
		ResultType        string          `json:"resultType"`
		SupportedVersions []string        `json:"supportedVersions"`
		Capabilities      json.RawMessage `json:"capabilities"`
		Instructions      string          `json:"instructions,omitempty"`
		cacheHints
		Meta map[string]json.RawMessage `json:"_meta"`
	}{
		ResultType:        mcp.ResultComplete,
		SupportedVersions: append(mcp.ModernVersions(), mcp.LegacyVersions()...),
		Capabilities:      capabilities,
		Instructions:      ex.config.Instructions,
		cacheHints:        ex.cacheHints(),
		Meta:              map[string]json.RawMessage{mcp.MetaServerInfo: ex.config.ServerCard},
	})
}

// cacheHints say how long a result may be kept and by whom. Source: server/utilities/caching#cacheable-model.
type cacheHints struct {
	TTLMs      int64  `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

func (ex *exchange) cacheHints() cacheHints {
	scope := ex.config.CacheScope
	if !ex.facts.Principal.Anonymous() {
		// What a known caller sees may differ from what others see, whatever the configuration says.
		scope = mcp.CachePrivate
	}
	return cacheHints{TTLMs: ex.config.CacheTTL.Milliseconds(), CacheScope: scope}
}

// listTools answers tools/list with definitions byte for byte as they were published.
func (ex *exchange) listTools(ctx context.Context) (json.RawMessage, error) {
	if ex.params.HasCursor && ex.params.Cursor == "" {
		return nil, mcp.InvalidCursor()
	}
	page, err := ex.config.Catalogue.Page(ctx, ex.params.Cursor, ex.config.Page, func(entry *registry.Entry) bool {
		return access.Visible(&entry.Tool.Contract, ex.facts.Principal)
	})
	if errors.Is(err, registry.ErrBadCursor) {
		return nil, mcp.InvalidCursor()
	}
	if err != nil {
		ex.cause = fmt.Errorf("listing tools: %w", err)
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternalError,
			"The tool catalogue cannot be read at the moment (request id %s)", ex.facts.RequestID)
	}
	return ex.listResult(page), nil
}

func (ex *exchange) listResult(page registry.Page) json.RawMessage {
	size := 512 + len(ex.config.ServerInfo)
	for _, definition := range page.Definitions {
		size += len(definition) + 1
	}
	out := append(make([]byte, 0, size), `{"tools":[`...)
	for i, definition := range page.Definitions {
		if i > 0 {
			out = append(out, ',')
		}
		if !ex.modern {
			definition = forEarlier(definition)
		}
		out = append(out, definition...)
	}
	out = append(out, ']')
	if page.NextCursor != "" {
		out = append(out, `,"nextCursor":`...)
		out = strconv.AppendQuote(out, page.NextCursor)
	}
	if ex.modern {
		hints := ex.cacheHints()
		out = fmt.Appendf(out, `,"resultType":"complete","ttlMs":%d,"cacheScope":%q,"_meta":{%q:%s}`,
			hints.TTLMs, hints.CacheScope, mcp.MetaServerInfo, ex.config.ServerInfo)
	}
	return append(out, '}')
}

// listen answers subscriptions/listen. No changes are announced yet, so it acknowledges an empty filter and completes
// at once, as a server does that ends a subscription on its own initiative
// (basic/patterns/subscriptions#graceful-closure).
func (ex *exchange) listen() (json.RawMessage, error) {
	if filter := ex.params.Notifications; len(filter) == 0 || filter[0] != '{' {
		return nil, mcp.InvalidParams("Invalid params: params.notifications must be an object that names the notifications " +
			"to receive")
	}
	if !ex.answer.accepts.stream {
		return nil, mcp.InvalidParams("Invalid params: subscriptions/listen is answered as a stream; " +
			"Accept must list text/event-stream")
	}
	acknowledged := fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":{}}`, mcp.MetaSubscriptionID, ex.message.ID)
	ex.answer.notify(jsonrpc.AppendNotification(nil, mcp.NotificationAcknowledged, acknowledged))
	return fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s,%q:%s}}`,
		mcp.MetaSubscriptionID, ex.message.ID, mcp.MetaServerInfo, ex.config.ServerInfo), nil
}

// initialize answers the handshake of the earlier revisions, without a session: the client's version where it is spoken
// here, else the newest of them (2025-11-25, basic/lifecycle#version-negotiation).
func (ex *exchange) initialize() (json.RawMessage, error) {
	if ex.params.ProtocolVersion == "" {
		return nil, mcp.InvalidParams("Invalid params: params.protocolVersion is missing; it must be one of %v",
			mcp.LegacyVersions())
	}
	version := ex.params.ProtocolVersion
	if !mcp.IsLegacy(version) {
		version = mcp.LatestLegacy
	}
	return json.Marshal(struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
		Instructions    string          `json:"instructions,omitempty"`
	}{version, capabilities, ex.config.ServerCard, ex.config.Instructions})
}
