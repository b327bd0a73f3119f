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

// readTree checks that data is one JSON object that every reader understands alike, and returns it; nil when it is not.
func (c *checker) readTree(data []byte) *node {
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
		c.report("json-encoding", "", utf8Only, "%s: the byte 0x%02x is not UTF-8", position(data, at), data[at])
	default:
		return true
	}
	return false
}

func (c *checker) checkSyntax(data []byte) bool {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		c.report("json-syntax", "", "", "%s", syntaxMessage(data, syntax))
		return false
	}
	if at := loneSurrogate(data); at >= 0 {
		c.report("json-encoding", "", "pairs like \\ud83d\\ude00, or the character itself",
			"%s: half of a surrogate pair", position(data, at))
		return false
	}
	return true
}

func syntaxMessage(data []byte, err *json.SyntaxError) string {
	at := max(int(err.Offset)-1, 0)
	where := position(data, at)
	rest := data[min(at, len(data)):]
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "the file is empty"
	case at+1 >= len(data) && err.Error() == "unexpected end of JSON input":
		return where + ": the JSON ends too early"
	case bytes.HasPrefix(rest, []byte("/")) || bytes.HasPrefix(rest, []byte("#")):
		return where + ": JSON has no comments"
	}
	return where + ": " + err.Error()
}

// position says where a byte is, in lines and columns as editors count them.
func position(data []byte, at int) string {
	before := data[:min(at, len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
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
