// Package mailtest gives the tests of the mail tools a real SMTP server that keeps what it is sent, and a way to make
// it fail.
package mailtest

import (
	"sync"
	"testing"
	"time"

	"patchbay/functions/internal/mail"
	"patchbay/scripts/smtpsink"
)

// From is the sender of the mailers of this package.
const From = "Support <support@example.com>"

// Timeout is how long a mailer of this package waits for one step.
const Timeout = 2 * time.Second

// Now is the time of the mailers of this package.
var Now = time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC)

// Server is a running SMTP server.
type Server struct {
	// Address is its HOST:PORT.
	Address string

	mu   sync.Mutex
	kept []smtpsink.Message
	sink *smtpsink.Server
}

// Start starts a server that ends with the test. Options.Received is replaced.
func Start(t testing.TB, options smtpsink.Options) *Server {
	t.Helper()
	s := &Server{}
	options.Received = func(m smtpsink.Message) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kept = append(s.kept, m)
	}
	sink, err := smtpsink.Start("127.0.0.1:0", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.sink, s.Address = sink, sink.Address
	return s
}

// Close ends the server. The address is then one where nobody listens.
func (s *Server) Close() { _ = s.sink.Close() }

// Kept returns the messages that the server kept, in the order of their arrival.
func (s *Server) Kept() []smtpsink.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]smtpsink.Message(nil), s.kept...)
}

// Mailer returns a mailer that sends to the server.
func (s *Server) Mailer(t testing.TB) *mail.Mailer {
	t.Helper()
	mailer, err := mail.New(mail.Options{
		Address: s.Address, From: From, Timeout: Timeout, Now: func() time.Time { return Now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return mailer
}

// At makes a server act at one stage of every conversation; an address, if not empty, is the only one it acts on.
func At(stage smtpsink.Stage, address string, action smtpsink.Action) func(smtpsink.Step) smtpsink.Action {
	return func(step smtpsink.Step) smtpsink.Action {
		if step.Stage == stage && (address == "" || step.Address == address) {
			return action
		}
		return smtpsink.Action{}
	}
}

// Refuse is a reply of the given code in words that no tool may show.
func Refuse(code int) smtpsink.Action {
	return smtpsink.Action{Code: code, Text: "SERVER-WORDS at 127.0.0.1"}
}

// Drop ends the connection.
func Drop() smtpsink.Action { return smtpsink.Action{Drop: true} }
