// Package mail sends plain messages over SMTP (RFC 5321) for the tools that write e-mail.
//
// It is careful about two things. Nothing that a caller gives can become a header or a command of its own: addresses
// are parsed, texts are encoded (RFC 2045, RFC 2047), and a control character is refused or encoded. And a failure says
// whether a message may be on its way. A server has a message only when it was sent the line that ends it (RFC 5321,
// 4.1.1.4), so whatever fails before that line has no effect; when the connection ends or the time runs out after it,
// the outcome is unknown, and so the message is never sent a second time here.
//
// There is no TLS and no sign-in: the server is a relay of one's own network, which knows its clients by their
// addresses.
package mail

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// reserve is the time that a call keeps for answering its own caller.
	reserve = 500 * time.Millisecond
	// minSend is the time without which a message is not begun, since nobody would wait for its confirmation.
	minSend = time.Second
)

// Options say through which server and as whom to send.
type Options struct {
	// Address is the SMTP server's HOST:PORT.
	Address string
	// From is the sender: an address, with a name if it has one, as in "Support <support@example.com>".
	From string
	// Timeout bounds the connecting and each step of a conversation; 0 means 8 s. Only the confirmation of a message is
	// waited for as long as the context allows, since giving up early leaves its outcome unknown.
	Timeout time.Duration
	// Now is the clock of the header Date; nil means time.Now.
	Now func() time.Time
}

// Mailer sends messages. It is safe for concurrent use.
type Mailer struct {
	address string
	from    Address
	timeout time.Duration
	now     func() time.Time
}

// New returns a Mailer. An error means that an option cannot be right.
func New(options Options) (*Mailer, error) {
	host, port, err := net.SplitHostPort(options.Address)
	if err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("the SMTP server's address is %q; it must be HOST:PORT", options.Address)
	}
	from, err := ParseAddress(options.From)
	if err != nil {
		return nil, fmt.Errorf("reading the sender's address: %w", err)
	}
	m := &Mailer{
		address: options.Address,
		from:    from,
		timeout: cmp.Or(options.Timeout, 8*time.Second),
		now:     options.Now,
	}
	if m.now == nil {
		m.now = time.Now
	}
	return m, nil
}

// From returns the sender.
func (m *Mailer) From() Address { return m.from }

// ID returns a Message-ID (RFC 5322, 3.6.4) in the sender's domain. The same parts give the same id, by which servers
// recognize a message that is sent again; no parts give a new one each time.
func (m *Mailer) ID(parts ...string) string {
	unique := rand.Text()
	if len(parts) > 0 {
		hash := sha256.New()
		for _, part := range parts {
			fmt.Fprintf(hash, "%d:%s", len(part), part)
		}
		unique = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	spec := m.from.Spec()
	return "<" + unique + spec[strings.LastIndexByte(spec, '@'):] + ">"
}

// Message is what is sent. It has one recipient at least.
type Message struct {
	// ID is the Message-ID, as Mailer.ID makes it.
	ID string
	// To and Cc are the recipients, who all see each other.
	To, Cc []Address
	// Subject is one line of text. A line break in it is encoded, and so is shown and does not end the header.
	Subject string
	// Body is plain text.
	Body string
}

var errNoRecipient = errors.New("a message has at least one recipient")
