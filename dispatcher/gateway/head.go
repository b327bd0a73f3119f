package gateway

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPrelude is how much API Gateway reads in search of the end of the prelude.
// Source: API Gateway developer guide, "Set up a Lambda proxy integration with payload response streaming".
const maxPrelude = 16 << 10

// appendHead appends a status and a header as the members that every kind of answer begins with, without the closing
// brace. Version 1 takes several values of one field as multiValueHeaders; version 2 has cookies as a list of their
// own and any other field once.
func appendHead(dst []byte, version string, status int, header http.Header) []byte {
	dst = strconv.AppendInt(append(dst, `{"statusCode":`...), int64(status), 10)
	names := passed(header)
	if version == "2.0" {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "Set-Cookie" })
		dst = appendFields(dst, "headers", names, func(dst []byte, name string) []byte {
			return appendText(dst, strings.Join(header[name], ", "))
		})
		if cookies := header["Set-Cookie"]; len(cookies) > 0 {
			dst = appendList(append(dst, `,"cookies":`...), cookies)
		}
		return dst
	}
	once, several := split(names, func(name string) bool { return len(header[name]) == 1 })
	dst = appendFields(dst, "headers", once, func(dst []byte, name string) []byte {
		return appendText(dst, header[name][0])
	})
	return appendFields(dst, "multiValueHeaders", several, func(dst []byte, name string) []byte {
		return appendList(dst, header[name])
	})
}

func split(names []string, first func(string) bool) (yes, no []string) {
	for _, name := range names {
		if first(name) {
			yes = append(yes, name)
		} else {
			no = append(no, name)
		}
	}
	return yes, no
}

// appendFields appends one member that holds the named fields; nothing when there are none.
func appendFields(dst []byte, key string, names []string, value func(dst []byte, name string) []byte) []byte {
	if len(names) == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	open := byte('{')
	for _, name := range names {
		dst = append(appendText(append(dst, open), name), ':')
		dst = value(dst, name)
		open = ','
	}
	return append(dst, '}')
}

// hopByHop are the fields that belong to one connection, and so to the front door (RFC 9110, section 7.6.1).
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authenticate": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// passed returns the names of the fields that are sent, in order. Trailers and names that are no tokens are left out
// with the hop-by-hop fields.
func passed(header http.Header) []string {
	options := connectionOptions(header["Connection"])
	names := make([]string, 0, len(header))
	for name, values := range header {
		if len(values) > 0 && isToken(name) && !hopByHop[name] && !slices.Contains(options, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// connectionOptions returns the fields that a Connection field makes hop-by-hop.
func connectionOptions(values []string) (names []string) {
	for _, value := range values {
		for option := range strings.SplitSeq(value, ",") {
			names = append(names, http.CanonicalHeaderKey(strings.TrimSpace(option)))
		}
	}
	return names
}

// appendPrelude closes head and appends the eight zero bytes that the body follows.
func appendPrelude(head []byte) []byte {
	return append(head, "}\x00\x00\x00\x00\x00\x00\x00\x00"...)
}

// appendBody closes head with a whole body, which is sent as base64 when it is not text.
func appendBody(head, body []byte) []byte {
	dst := append(head, `,"body":`...)
	if utf8.Valid(body) {
		return append(appendString(dst, body), '}')
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, body)
	return append(dst, `","isBase64Encoded":true}`...)
}

func appendList(dst []byte, values []string) []byte {
	open := byte('[')
	for _, value := range values {
		dst = appendText(append(dst, open), value)
		open = ','
	}
	return append(dst, ']')
}

var lineEnds = strings.NewReplacer("\r", " ", "\n", " ")

// appendText appends the name or value of a header field as a JSON string. Line ends become spaces, as in net/http.
func appendText(dst []byte, s string) []byte {
	return appendString(dst, strings.ToValidUTF8(lineEnds.Replace(s), "\uFFFD"))
}

// appendString appends s, which is valid UTF-8, as a JSON string.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < ' ':
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
