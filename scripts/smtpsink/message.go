package smtpsink

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
)

// Message is what a client sent. As JSON it is one line of Options.File.
type Message struct {
	// ReceivedAt is when it had arrived whole, in UTC.
	ReceivedAt time.Time `json:"receivedAt"`
	// From and To are the envelope: the addresses of MAIL and RCPT, whatever the message's header says.
	From string   `json:"from"`
	To   []string `json:"to"`
	// Subject and MessageID are of the header, the subject decoded (RFC 2047); empty when there is none.
	Subject   string `json:"subject"`
	MessageID string `json:"messageId"`
	// Text is the body, its transfer encoding undone, with lines that end in LF.
	Text string `json:"text"`
	// Data is the message as it arrived, header and all, without what SMTP adds; its lines end in CR and LF. In JSON,
	// bytes that are not UTF-8 are replaced.
	Data string `json:"data"`
}

// String describes the message in one line.
func (m Message) String() string {
	return fmt.Sprintf("mail from %s to %s: %q, %d bytes", m.From, strings.Join(m.To, ", "), m.Subject, len(m.Data))
}

// newMessage reads what can be read of a message; a header that is none leaves fields empty.
func newMessage(from string, to []string, content []byte, now time.Time) Message {
	m := Message{ReceivedAt: now.UTC(), From: from, To: to, Data: string(content)}
	parsed, err := mail.ReadMessage(strings.NewReader(m.Data))
	if err != nil {
		return m
	}
	m.Subject, m.MessageID = parsed.Header.Get("Subject"), parsed.Header.Get("Message-Id")
	if decoded, err := new(mime.WordDecoder).DecodeHeader(m.Subject); err == nil {
		m.Subject = decoded
	}
	m.Text = text(parsed)
	return m
}

func text(parsed *mail.Message) string {
	body := parsed.Body
	switch strings.ToLower(parsed.Header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	// What is decoded up to a fault is worth more than nothing; Data has the rest.
	decoded, _ := io.ReadAll(body)
	return strings.ReplaceAll(string(decoded), "\r\n", "\n")
}

// keep appends the message to the file and hands it over.
func (s *Server) keep(message Message) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.file != nil {
		line, err := json.Marshal(message)
		if err != nil {
			return fmt.Errorf("encoding a message: %w", err)
		}
		if _, err := s.file.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("appending a message: %w", err)
		}
	}
	if s.options.Received != nil {
		s.options.Received(message)
	}
	return nil
}
