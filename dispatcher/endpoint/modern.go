package endpoint

import (
	"slices"
	"strings"

	"patchbay/shared/mcp"
)

// isModern tells the era: a request is modern when its _meta names a version, or when its version header does anything
// but name one earlier revision. So a header that no client of those sends, such as two of them, is refused as the
// modern revision has it. Source: basic/versioning#backward-compatibility-with-initialization-based-versions.
func (ex *exchange) isModern() bool {
	if ex.params.Meta.HasVersion {
		return true
	}
	version, sent, err := ex.singleHeader(mcp.HeaderProtocolVersion)
	return err != nil || (sent && !mcp.IsLegacy(version))
}

// checkModern checks what revision 2026-07-28 demands of every request: headers that say what the body says, a version
// that is spoken here, and the required metadata. Notifications need no headers (basic/transports/streamable-http, note
// under #sending-messages), but those that they have must be true.
func (ex *exchange) checkModern() error {
	if err := ex.checkVersion(); err != nil {
		return err
	}
	if err := ex.checkHeaders(); err != nil {
		return err
	}
	if ex.message.IsNotification() {
		return nil
	}
	if !ex.params.Meta.HasVersion {
		return missingMeta(mcp.MetaProtocolVersion, "the protocol version as a string")
	}
	if ex.params.Meta.ClientCapabilities == nil {
		return missingMeta(mcp.MetaClientCapabilities, "an object, empty if the client has none")
	}
	return nil
}

func missingMeta(key, what string) error {
	return mcp.InvalidParams("Invalid params: params._meta[%q] is missing; it must be %s", key, what)
}

// checkVersion compares the version header with _meta, then both with what is spoken here. A version that nobody here
// speaks is told apart from a mismatch only when header and body agree on it, or when the body names none.
func (ex *exchange) checkVersion() error {
	header, sent, err := ex.singleHeader(mcp.HeaderProtocolVersion)
	if err != nil {
		return err
	}
	meta := ex.params.Meta
	switch {
	case !sent && !ex.message.IsNotification():
		return mcp.HeaderMismatch("%s is missing; it must be %q", mcp.HeaderProtocolVersion, mcp.Version20260728)
	case sent && meta.HasVersion && header != meta.ProtocolVersion:
		return mcp.HeaderMismatch("%s is %q, and the body's _meta says %q",
			mcp.HeaderProtocolVersion, shorten(header), shorten(meta.ProtocolVersion))
	case sent && !meta.HasVersion:
		ex.version = header
	default:
		ex.version = meta.ProtocolVersion
	}
	if ex.version != "" && !mcp.IsModern(ex.version) {
		return mcp.UnsupportedVersion(ex.version)
	}
	return nil
}

// checkHeaders compares Mcp-Method and Mcp-Name with the body.
// Source: basic/transports/streamable-http#server-validation.
func (ex *exchange) checkHeaders() error {
	if err := ex.compare(mcp.HeaderMethod, ex.message.Method, !ex.message.IsNotification()); err != nil {
		return err
	}
	if ex.message.Method != mcp.MethodToolsCall || ex.message.IsNotification() {
		return nil
	}
	if err := ex.compare(mcp.HeaderName, ex.params.Name, true); err != nil {
		return err
	}
	if !ex.params.HasName {
		return mcp.InvalidParams("Invalid params: params.name is missing; it must name the tool")
	}
	return nil
}

// compare refuses a header that is not what the body says.
func (ex *exchange) compare(header, body string, required bool) error {
	value, sent, err := ex.singleHeader(header)
	if err != nil {
		return err
	}
	if !sent {
		if required {
			return mcp.HeaderMismatch("%s is missing; it must be %q", header, shorten(body))
		}
		return nil
	}
	if header == mcp.HeaderName {
		decoded, err := mcp.DecodeHeaderValue(value)
		if err != nil {
			return mcp.HeaderMismatch("%s %s", header, err)
		}
		value = decoded
	}
	if value != body {
		return mcp.HeaderMismatch("%s is %q, and the body says %q", header, shorten(value), shorten(body))
	}
	return nil
}

// singleHeader returns the one value of a header. Sent twice with different values it has no meaning that two readers
// agree on (RFC 9110, section 5.3).
func (ex *exchange) singleHeader(name string) (value string, sent bool, err error) {
	values := ex.http.Header.Values(name)
	if len(values) == 0 {
		return "", false, nil
	}
	first := strings.Trim(values[0], " \t")
	for _, other := range values[1:] {
		if strings.Trim(other, " \t") != first {
			return "", true, mcp.HeaderMismatch("%s is sent more than once with different values", name)
		}
	}
	return first, true, nil
}

// checkLegacy checks what the earlier revisions demand: a tools/call names its tool. They have no required headers, but
// those that a client sends all the same must be true, since somebody on the way may have gone by them.
func (ex *exchange) checkLegacy() error {
	if _, _, err := ex.singleHeader(mcp.HeaderProtocolVersion); err != nil {
		return err
	}
	ex.version = ex.legacyVersion()
	if ex.message.IsNotification() {
		return nil
	}
	if err := ex.compare(mcp.HeaderMethod, ex.message.Method, false); err != nil {
		return err
	}
	if ex.message.Method == mcp.MethodToolsCall {
		if err := ex.compare(mcp.HeaderName, ex.params.Name, false); err != nil {
			return err
		}
	}
	if ex.message.Method == mcp.MethodToolsCall && !ex.params.HasName {
		return mcp.InvalidParams("Invalid params: params.name is missing; it must name the tool")
	}
	return nil
}

// legacyVersion is the revision of a request without per-request metadata: the header's, else the last one that had
// none (2025-06-18, basic/transports#protocol-version-header).
func (ex *exchange) legacyVersion() string {
	if ex.message.Method == mcp.MethodInitialize && slices.Contains(mcp.LegacyVersions(), ex.params.ProtocolVersion) {
		return ex.params.ProtocolVersion
	}
	if header := strings.Trim(ex.http.Header.Get(mcp.HeaderProtocolVersion), " \t"); header != "" {
		return header
	}
	return mcp.Version20250326
}
