package mail

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime/quotedprintable"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// foldAt is where header lines are folded (RFC 5322, 2.1.1: 78 characters without the line end).
	foldAt = 76
	// maxPlainWord is the longest word that is left as it is; a longer one is encoded, so that it can be folded.
	maxPlainWord = 60
	// maxWordBytes is how much text goes into one encoded-word, so that "Subject: " and a word make a line of at most
	// 76 characters (RFC 2047, 2).
	maxWordBytes = 39
)

// lineEnds makes all line ends alike. The quoted-printable writer makes CR and LF of each, but swallows the line feed
// that comes some bytes after a carriage return which stands alone.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// encode writes the message as it goes over the wire (RFC 5322, RFC 2045), with lines that end in CR and LF, none of
// them near the limit of 998 bytes, and in ASCII alone.
func (m Message) encode(from Address, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	header(&out, "From", from.header())
	header(&out, "To", list(m.To))
	if len(m.Cc) > 0 {
		header(&out, "Cc", list(m.Cc))
	}
	header(&out, "Subject", encodeText(m.Subject))
	header(&out, "Date", date.Format(time.RFC1123Z))
	header(&out, "Message-ID", m.ID)
	header(&out, "MIME-Version", "1.0")
	header(&out, "Content-Type", "text/plain; charset=utf-8")
	header(&out, "Content-Transfer-Encoding", "quoted-printable")
	out.WriteString("\r\n")
	body := quotedprintable.NewWriter(&out)
	if _, err := body.Write([]byte(lineEnds.Replace(m.Body))); err != nil {
		return nil, fmt.Errorf("encoding the body: %w", err)
	}
	if err := body.Close(); err != nil {
		return nil, fmt.Errorf("encoding the body: %w", err)
	}
	return out.Bytes(), nil
}

func list(addresses []Address) string {
	headers := make([]string, len(addresses))
	for i, address := range addresses {
		headers[i] = address.header()
	}
	return strings.Join(headers, ", ")
}

// header writes one header field, folded at the spaces of its value (RFC 5322, 2.2.3).
func header(out *bytes.Buffer, name, value string) {
	out.WriteString(name + ":")
	column := len(name) + 1
	for word := range strings.SplitSeq(value, " ") {
		if column+1+len(word) > foldAt && column > len(name)+1 {
			out.WriteString("\r\n")
			column = 0
		}
		out.WriteString(" " + word)
		column += 1 + len(word)
	}
	out.WriteString("\r\n")
}

// encodeText returns text as an unstructured header field has it.
func encodeText(text string) string {
	if isPlain(text) {
		return text
	}
	return encodeWords(text)
}

// isPlain reports whether text can stand in a header as it is: printable ASCII in words of moderate length with single
// spaces between, and nothing that a reader would take for an encoded-word.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	for word := range strings.SplitSeq(text, " ") {
		if word == "" && text != "" || len(word) > maxPlainWord {
			return false
		}
	}
	return !strings.Contains(text, "=?")
}

// encodeWords returns text as encoded-words with spaces between, which readers drop (RFC 2047, 6.2). Bytes that are not
// UTF-8 are replaced.
func encodeWords(text string) string {
	var words []string
	for rest := strings.ToValidUTF8(text, "\uFFFD"); rest != ""; {
		end := min(len(rest), maxWordBytes)
		for end < len(rest) && !utf8.RuneStart(rest[end]) {
			end-- // a character is not divided (RFC 2047, 5)
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(rest[:end]))+"?=")
		rest = rest[end:]
	}
	return strings.Join(words, " ")
}
