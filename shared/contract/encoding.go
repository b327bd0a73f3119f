package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// MaxFileBytes is the largest tool.json. Definition and contract are stored in one DynamoDB item (400 KB), and a model
// reads all of the definition with every conversation.
const MaxFileBytes = 256 << 10

// readTree checks that the file is one JSON object that every reader understands alike, and returns it; nil when it is
// not.
func (c *checker) readTree() *node {
	data := c.data
	if !c.checkEncoding(data) || !c.checkSyntax(data) {
		return nil
	}
	root := parseTree(data)
	if root.kind() != kindObject {
		c.wrongType(root, "", string(kindObject))
		return nil
	}
	c.checkRepeats(root, "")
	return root
}

func (c *checker) checkEncoding(data []byte) bool {
	const utf8Only = "UTF-8 without a byte order mark"
	switch {
	case len(data) > MaxFileBytes:
		c.report("json-size", "", "at most "+strconv.Itoa(MaxFileBytes)+" bytes", "the file has %d bytes", len(data))
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		c.report("json-encoding", "", utf8Only, "the file begins with a byte order mark")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		c.report("json-encoding", "", utf8Only, "the file is UTF-16")
	case !utf8.Valid(data):
		at := invalidUTF8(data)
		c.reportAt(at, "json-encoding", utf8Only, "the byte 0x%02x is not UTF-8", data[at])
	default:
		return true
	}
	return false
}

func (c *checker) checkSyntax(data []byte) bool {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		c.reportSyntax(syntax)
		return false
	}
	if at := loneSurrogate(data); at >= 0 {
		c.reportAt(at, "json-encoding", "pairs like \\ud83d\\ude00, or the character itself", "half of a surrogate pair")
		return false
	}
	return true
}

func (c *checker) reportSyntax(err *json.SyntaxError) {
	if len(bytes.TrimSpace(c.data)) == 0 {
		c.report("json-syntax", "", "", "the file is empty")
		return
	}
	at := min(max(int(err.Offset)-1, 0), len(c.data))
	message := err.Error()
	switch rest := c.data[at:]; {
	case len(rest) <= 1 && message == "unexpected end of JSON input":
		message = "the JSON ends too early"
	case bytes.HasPrefix(rest, []byte("/")) || bytes.HasPrefix(rest, []byte("#")):
		message = "JSON has no comments"
	}
	c.reportAt(at, "json-syntax", "", "%s", message)
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// loneSurrogate returns where valid JSON has an escape that is half of a surrogate pair, or -1. Readers differ in what
// they make of one (RFC 8259, section 8.2).
func loneSurrogate(data []byte) int {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		half := surrogate(data[i:])
		if half == 0 {
			i++ // the escaped character, which may be a backslash itself
			continue
		}
		if half == 'l' || surrogate(data[i+len(`\ud83d`):]) != 'l' {
			return i
		}
		i += len(`\ud83d\ude00`) - 1
	}
	return -1
}

// surrogate says whether an escape is the high ('h') or the low ('l') half of a pair, or neither (0).
func surrogate(escape []byte) byte {
	if len(escape) < 6 || escape[0] != '\\' || escape[1] != 'u' || lower(escape[2]) != 'd' {
		return 0
	}
	switch lower(escape[3]) {
	case '8', '9', 'a', 'b':
		return 'h'
	case 'c', 'd', 'e', 'f':
		return 'l'
	}
	return 0
}

// checkRepeats reports keys that an object has twice, at any depth.
func (c *checker) checkRepeats(n *node, pointer string) {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		at := child(pointer, m.key)
		if seen[m.key] {
			c.report("duplicate-key", at, "each key once", "the key %q comes twice in one object", m.key)
		}
		seen[m.key] = true
		c.checkRepeats(m.value, at)
	}
	for i, element := range n.items {
		c.checkRepeats(element, item(pointer, i))
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
