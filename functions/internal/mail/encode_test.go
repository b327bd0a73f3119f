package mail

import (
	"bytes"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var date = time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC)

func address(t testing.TB, text string) Address {
	t.Helper()
	a, err := ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEncode(t *testing.T) {
	t.Parallel()
	message := Message{
		ID:      "<1@example.com>",
		To:      []Address{address(t, "ada@example.com"), address(t, `"Bob, the \"1st\"" <bob@example.org>`)},
		Cc:      []Address{address(t, "Zoë Çelik <zoe@example.org>")},
		Subject: "Grüße an alle",
		Body:    "Hallo,\n.\nviele Grüße = \r\nB. ",
	}
	got, err := message.encode(address(t, "Support <support@example.com>"), date)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`From: "Support" <support@example.com>
To: ada@example.com, "Bob, the \"1st\"" <bob@example.org>
Cc: =?utf-8?b?Wm/DqyDDh2VsaWs=?= <zoe@example.org>
Subject: =?utf-8?b?R3LDvMOfZSBhbiBhbGxl?=
Date: Sat, 01 Aug 2026 12:00:00 +0000
Message-ID: <1@example.com>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Hallo,
.
viele Gr=C3=BC=C3=9Fe =3D=20
B.=20`, "\n", "\r\n")
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestEncodeText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":           "Your order 1234 (2 parts) has shipped",
		"empty":           "",
		"line break":      "Hello\r\nBcc: eve@example.com\r\n\r\nbody",
		"letters":         strings.Repeat("Ünïcødé ", 40),
		"long":            strings.Repeat("one two ", 120),
		"one long word":   strings.Repeat("x", 1200),
		"four bytes each": strings.Repeat("🙂", 100),
		"an encoded word": "=?utf-8?q?Bcc?=",
		"spaces":          "  two  spaces ",
		"NUL and DEL":     "a\x00b\x7f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSubject(t, text)
		})
	}
}

// checkSubject encodes a message with a subject and reads it back with the parser of the standard library.
func checkSubject(t *testing.T, subject string) {
	t.Helper()
	to := []Address{address(t, "bob@example.org")}
	message := Message{ID: "<1@example.com>", To: to, Subject: subject, Body: subject}
	raw, err := message.encode(address(t, "ada@example.com"), date)
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, raw)
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%q cannot be read: %v", raw, err)
	}
	if len(parsed.Header) != 8 {
		t.Errorf("%d header fields, want 8: %v", len(parsed.Header), parsed.Header)
	}
	got, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	if want := strings.ToValidUTF8(subject, "\uFFFD"); err != nil || got != want {
		t.Errorf("subject %q, error %v; want %q", got, err, want)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if want := lines(subject); err != nil || lines(string(body)) != want {
		t.Errorf("body %q, error %v; want %q", body, err, want)
	}
}

// lines makes all line ends alike.
func lines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

func checkLines(t *testing.T, raw []byte) {
	t.Helper()
	for line := range bytes.SplitSeq(raw, []byte("\r\n")) {
		isClean := !bytes.ContainsFunc(line, func(r rune) bool { return r == 0 || r == '\r' || r == '\n' || r > '~' })
		if len(line) > 78 || !isClean {
			t.Errorf("the line %q is too long or not clean", line)
		}
	}
}

// No text becomes a header field of its own, and every text arrives.
func FuzzSubject(f *testing.F) {
	f.Add("Hello\r\nBcc: eve@example.com")
	f.Add("a\n b")
	f.Add("\rafter a carriage return alone\n")
	f.Add("=?utf-8?b?Cg==?= ü \xff")
	f.Fuzz(func(t *testing.T, subject string) { checkSubject(t, subject) })
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"ada@example.com":                      {"ada@example.com", "ada@example.com"},
		" Ada Lovelace <ada@example.com> ":     {"ada@example.com", `"Ada Lovelace" <ada@example.com>`},
		`"Lovelace, Ada" <ada@example.com>`:    {"ada@example.com", `"Lovelace, Ada" <ada@example.com>`},
		`"a > b"@example.com`:                  {`"a > b"@example.com`, `"a > b"@example.com`},
		"=?utf-8?q?Zo=C3=AB?= <z@example.com>": {"z@example.com", "=?utf-8?b?Wm/Dqw==?= <z@example.com>"},
		"a+b@[192.0.2.1]":                      {"a+b@[192.0.2.1]", "a+b@[192.0.2.1]"},
	} {
		got, err := ParseAddress(text)
		if err != nil || got.Spec() != want[0] || got.header() != want[1] {
			t.Errorf("%q is %q, %q, error %v; want %q", text, got.Spec(), got.header(), err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                       "not one e-mail address",
		"ada":                                    "not one e-mail address",
		"ada@example.com, bob@example.com":       "not one e-mail address",
		"a@example.com\r\nBcc: e@example.com":    "line break",
		"ä@example.com":                          "outside of ASCII",
		"a@exämple.com":                          "outside of ASCII",
		strings.Repeat("a", 65) + "@example.com": "too long",
		"a@" + strings.Repeat("a.", 130) + "com": "too long",
		"=?utf-8?q?a=0D=0Ab?= <z@example.com>":   "encoded control character",
	} {
		if got, err := ParseAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, error %v; want one with %q", text, got, err, want)
		}
	}
}

// What is taken for an address is one for the standard library's parser too, and for the envelope.
func FuzzParseAddress(f *testing.F) {
	f.Add("Ada <ada@example.com>")
	f.Add(`"\" <x@y>" <"a b"@example.com>`)
	f.Add("=?utf-8?b?Cg==?= <a@b>")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseAddress(text)
		if err != nil {
			return
		}
		again, err := mail.ParseAddress(got.header())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, got.header(), err)
		}
		isClean := !strings.ContainsAny(got.header()+got.spec, "\r\n\x00")
		if utf8.ValidString(got.name) && again.Name != got.name || !isClean {
			t.Errorf("%q became %q", text, got.header())
		}
		if reread, err := ParseAddress(got.spec); err != nil || reread.spec != got.spec {
			t.Errorf("the address %q of %q is %q, error %v", got.spec, text, reread.spec, err)
		}
	})
}
