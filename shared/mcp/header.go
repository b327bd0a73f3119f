package mcp

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

// Request headers. Source: basic/transports/streamable-http#request-metadata.
const (
	HeaderProtocolVersion = "MCP-Protocol-Version"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
	HeaderParamPrefix     = "Mcp-Param-"
)

const (
	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// EncodeHeaderValue returns value as a header value: itself where it is plain ASCII, else in the Base64 form.
// Source: basic/transports/streamable-http#value-encoding.
func EncodeHeaderValue(value string) string {
	if plainHeaderValue(value) && !isEncoded(value) {
		return value
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(value)) + base64Suffix
}

// DecodeHeaderValue returns the text that a header value stands for. Optional white space around it does not count
// (RFC 9110, section 5.5). The error says what is wrong with the value, for the client.
func DecodeHeaderValue(header string) (string, error) {
	header = strings.Trim(header, " \t")
	if !isEncoded(header) {
		if !visibleASCII(header) {
			return "", errors.New("has characters other than visible ASCII; encode it as =?base64?…?=")
		}
		return header, nil
	}
	inner := header[len(base64Prefix) : len(header)-len(base64Suffix)]
	decoded, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || strings.ContainsAny(inner, "\r\n") {
		return "", errors.New("is not valid Base64 between =?base64? and ?=")
	}
	if !utf8.Valid(decoded) {
		return "", errors.New("is not UTF-8 after Base64 decoding")
	}
	return string(decoded), nil
}

// isEncoded reports whether value has the form of the Base64 sentinel; the markers are case-sensitive.
func isEncoded(value string) bool {
	return len(value) >= len(base64Prefix)+len(base64Suffix) &&
		strings.HasPrefix(value, base64Prefix) && strings.HasSuffix(value, base64Suffix)
}

func plainHeaderValue(value string) bool {
	return visibleASCII(value) && strings.Trim(value, " \t") == value
}

func visibleASCII(value string) bool {
	for i := range len(value) {
		c := value[i]
		if (c < 0x20 || c > 0x7e) && c != '\t' {
			return false
		}
	}
	return true
}
