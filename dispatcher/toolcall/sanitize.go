package toolcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"patchbay/shared/jsonrpc"
)

// suspicious finds, in the bytes of JSON, what may be a control character in a text: escaped, or as it is. Most results
// have none, and pass as the tool wrote them.
var suspicious = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\u00[0189]|\\u007[fF]|\\[bf]|\x7f|\xc2[\x80-\x9f]`)
})

// sanitize removes from texts the control characters by which an answer could spoof a terminal or a log, such as escape
// sequences; line breaks and tabs stay (server/tools#security-considerations). Only texts that have some are written
// anew.
func sanitize(members reply) reply {
	for i, m := range members {
		if m.Key == memberContent && suspicious().Match(m.Value) {
			clean := append(reply(nil), members...)
			clean[i].Value = sanitizeContent(m.Value)
			return clean
		}
	}
	return members
}

func sanitizeContent(content json.RawMessage) json.RawMessage {
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return content
	}
	for i, block := range blocks {
		blocks[i] = sanitizeBlock(block)
	}
	return append(append([]byte{'['}, bytes.Join(asBytes(blocks), []byte{','})...), ']')
}

func asBytes(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, value := range values {
		out[i] = value
	}
	return out
}

func sanitizeBlock(block json.RawMessage) json.RawMessage {
	members, err := jsonrpc.Members(block)
	if err != nil {
		return block
	}
	for i, m := range members {
		var text string
		if m.Key != "text" || json.Unmarshal(m.Value, &text) != nil {
			continue
		}
		if clean := strings.Map(harmless, text); clean != text {
			members[i].Value = encodeText(clean)
		}
	}
	return reply(members).encode()
}

// encodeText is a text as JSON, with nothing escaped that need not be.
func encodeText(text string) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic("encoding a text: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}

func harmless(r rune) rune {
	switch {
	case r == '\n', r == '\r', r == '\t':
		return r
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return -1
	}
	return r
}

// checkLinks refuses links and pictures by whose scheme a client that opens or shows them would run something.
func checkLinks(block map[string]json.RawMessage) error {
	var link string
	if json.Unmarshal(block["uri"], &link) == nil && runs(link) {
		return fmt.Errorf("a link has the scheme of %.40q", link)
	}
	var icons []struct {
		Src string `json:"src"`
	}
	if json.Unmarshal(block["icons"], &icons) != nil {
		return nil
	}
	for _, icon := range icons {
		if u, err := url.Parse(icon.Src); err != nil || (u.Scheme != "https" && u.Scheme != "data") {
			return fmt.Errorf("an icon has the source %.40q; allowed: https, data", icon.Src)
		}
	}
	return nil
}

// runs reports whether a link is code. Control characters and spaces before the scheme are passed over, as browsers do.
func runs(link string) bool {
	scheme, _, found := strings.Cut(strings.Map(func(r rune) rune {
		if r <= 0x20 {
			return -1
		}
		return r
	}, link), ":")
	switch strings.ToLower(scheme) {
	case "javascript", "vbscript", "data":
		return found
	}
	return false
}
