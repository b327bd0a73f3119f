package token

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"patchbay/shared/jsonrpc"
)

const (
	// maxToken bounds a token. API Gateway takes 10,240 bytes of header fields in all.
	maxToken = 8 << 10
	// maxKeyID bounds the key id, which is compared with known ones, and logged.
	maxKeyID = 256
)

// parsedToken is a token of which nothing was verified.
type parsedToken struct {
	text    string
	header  header
	payload []byte
	claims  claims
	// unaddressed says that it names no audience.
	unaddressed bool
}

// header is what counts in a JOSE header. Source: RFC 7515, section 4.1.
type header struct {
	algorithm, keyID, kind string
}

// parse takes a token apart. Its errors are *Refusals.
func parse(text string) (*parsedToken, error) {
	p := &parsedToken{text: text}
	if len(text) > maxToken {
		return nil, p.refuse(ReasonSize)
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, p.refuse(ReasonForm)
	}
	rawHeader, ok := decode(parts[0])
	if !ok {
		return nil, p.refuse(ReasonForm)
	}
	if p.payload, ok = decode(parts[1]); !ok {
		return nil, p.refuse(ReasonForm)
	}
	// The signature may be empty, as with the algorithm "none", which is refused as such.
	if _, ok := decode(parts[2]); !ok && parts[2] != "" {
		return nil, p.refuse(ReasonForm)
	}
	members, reason := object(rawHeader)
	if reason == "" {
		reason = p.header.read(members)
	}
	if reason != "" {
		return nil, p.refuse(reason)
	}
	if p.claims, reason = object(p.payload); reason != "" {
		return nil, p.refuse(reason)
	}
	return p, nil
}

// decode decodes one part. Only the one way to write it is taken, without padding, line ends, or bits that are dropped,
// so that a token is one text. Source: RFC 7515, section 2.
func decode(part string) ([]byte, bool) {
	if part == "" || strings.ContainsAny(part, "\r\n") {
		return nil, false
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return decoded, err == nil
}

// object reads a JSON object whose members every reader understands alike, by their exact names.
func object(raw []byte) (claims, Reason) {
	if !json.Valid(raw) {
		return nil, ReasonForm
	}
	if jsonrpc.Unambiguous(raw) != nil {
		return nil, ReasonTwice
	}
	members, err := jsonrpc.Members(raw)
	if err != nil {
		return nil, ReasonForm
	}
	read := make(claims, len(members))
	for _, member := range members {
		read[member.Key] = member.Value
	}
	return read, ""
}

// read takes what counts, and refuses what would change what counts. Sources: RFC 8725, section 3.10, on keys that a
// header brings; RFC 7515, section 4.1.11, on extensions, of which none is understood here; RFC 7797 is one.
func (h *header) read(members claims) Reason {
	for _, name := range []string{"crit", "b64"} {
		if _, extended := members[name]; extended {
			return ReasonCritical
		}
	}
	for _, name := range []string{"jwk", "jku", "x5u", "x5c"} {
		if _, brings := members[name]; brings {
			return ReasonEmbedded
		}
	}
	for name, to := range map[string]*string{"alg": &h.algorithm, "kid": &h.keyID, "typ": &h.kind} {
		text, ok := members.text(name)
		if !ok {
			return ReasonForm
		}
		*to = text
	}
	if len(h.keyID) > maxKeyID {
		return ReasonKey
	}
	if h.algorithm == "" {
		return ReasonAlgorithm
	}
	return ""
}

// refuse is the error for a token that is not good.
func (p *parsedToken) refuse(reason Reason) *Refusal {
	client := ""
	for _, name := range []string{"client_id", "azp", "cid", "appid"} {
		if client == "" {
			client, _ = p.claims.text(name)
		}
	}
	return &Refusal{
		Reason: reason, Issuer: shorten(p.claims.issuer()), ClientID: shorten(client), KeyID: shorten(p.header.keyID),
	}
}

// clientID is the client that the token was issued to, by the provider's name for it; empty for none.
func (p *parsedToken) clientID(rules *rules) string {
	for _, name := range rules.client {
		if text, _ := p.claims.text(name); text != "" {
			return text
		}
	}
	return ""
}
