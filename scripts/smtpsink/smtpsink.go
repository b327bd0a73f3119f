// Package smtpsink is a small SMTP server that keeps what it is sent and delivers nothing: the mail server of the local
// stack and of tests. It is not part of what is deployed.
//
//	sink, err := smtpsink.Start("127.0.0.1:0", smtpsink.Options{
//		File:     "mail.jsonl",
//		Received: func(m smtpsink.Message) { fmt.Println(m) },
//	})
//
// It speaks RFC 5321 (EHLO, HELO, MAIL, RCPT, DATA, RSET, NOOP, VRFY, QUIT) with SIZE (RFC 1870), 8BITMIME (RFC 6152),
// PIPELINING (RFC 2920) and ENHANCEDSTATUSCODES (RFC 2034), and is as strict as the worst server that a client may
// meet: it refuses lines that are too long, line feeds and carriage returns that stand alone (RFC 5321, 2.3.8), and
// addresses that are not ASCII. Options.At makes it fail on purpose, at any step of a conversation. There is no TLS and
// no sign-in.
package smtpsink

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// DefaultMaxBytes is how long a message may be.
	DefaultMaxBytes = 10 << 20
	// DefaultMaxRecipients is how many recipients a message may have: the least that RFC 5321, 4.5.3.1.8 allows.
	DefaultMaxRecipients = 100
	// DefaultIdle is how long the server waits for a client (RFC 5321, 4.5.3.2.7).
	DefaultIdle = 5 * time.Minute
)

// Options configure a Server; the zero value makes one that accepts and forgets.
type Options struct {
	// MaxBytes is how long a message may be, its header included; 0 means DefaultMaxBytes.
	MaxBytes int
	// MaxRecipients is how many recipients a message may have; 0 means DefaultMaxRecipients.
	MaxRecipients int
	// Idle is how long the server waits for a client to go on; 0 means DefaultIdle.
	Idle time.Duration
	// File is where each message is appended as a line of JSON before it is acknowledged; "" for nowhere.
	File string
	// Received is called with each message before it is acknowledged, one call at a time; nil for nobody.
	Received func(Message)
	// At may change what happens at a step; nil, like a zero Action, changes nothing. It is called by every session for
	// itself, so at the same time by several.
	At func(Step) Action
	// Now tells the time of receipt; nil means time.Now.
	Now func() time.Time
}

// Step is a point of a conversation at which the server can be made to fail.
type Step struct {
	Stage Stage
	// Address is the sender's at Sender, and the recipient's at Recipient.
	Address string
}

// Stage names a step.
type Stage string

// The stages, in the order of a conversation.
const (
	// Connected: a client has connected and was not greeted yet.
	Connected Stage = "connected"
	// Sender: MAIL arrived.
	Sender Stage = "sender"
	// Recipient: RCPT arrived.
	Recipient Stage = "recipient"
	// Data: DATA arrived; the client was not yet told to go ahead.
	Data Stage = "data"
	// Content: the first line of the message arrived. A code given here is answered when the message has ended.
	Content Stage = "content"
	// Ended: the message arrived whole; it was neither kept nor acknowledged.
	Ended Stage = "ended"
	// Kept: the message was kept and not yet acknowledged.
	Kept Stage = "kept"
)

// Action is what the server does at a step in place of going on.
type Action struct {
	// Code is a reply code to answer with, such as 550 (refused for good) or 451 (refused for now); 0 for none.
	Code int
	// Text explains the code.
	Text string
	// Drop ends the connection without an answer.
	Drop bool
}

// Server is a running server.
type Server struct {
	// Address is where it listens, as HOST:PORT.
	Address string

	options  Options
	listener net.Listener
	file     *os.File
	sessions sync.WaitGroup

	keeping sync.Mutex // one message at a time is appended and handed over

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

// Start listens on a TCP address, port 0 being a free one, and serves until Close.
func Start(address string, options Options) (*Server, error) {
	options.MaxBytes = cmp.Or(options.MaxBytes, DefaultMaxBytes)
	options.MaxRecipients = cmp.Or(options.MaxRecipients, DefaultMaxRecipients)
	options.Idle = cmp.Or(options.Idle, DefaultIdle)
	if options.At == nil {
		options.At = func(Step) Action { return Action{} }
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Server{options: options, conns: map[net.Conn]bool{}}
	if err := s.open(address); err != nil {
		return nil, err
	}
	s.sessions.Go(s.accept)
	return s, nil
}

func (s *Server) open(address string) error {
	if s.options.File != "" {
		file, err := os.OpenFile(s.options.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("opening the file for mail: %w", err)
		}
		s.file = file
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for mail: %w", err), s.closeFile())
	}
	s.listener, s.Address = listener, listener.Addr().String()
	return nil
}

// Close ends the server and every conversation, and returns when they have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	_ = s.listener.Close()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.sessions.Wait()
	return s.closeFile()
}

func (s *Server) closeFile() error {
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("closing the file for mail: %w", err)
	}
	return nil
}

// accept starts a session for each client. The only error that ends it is that the listener was closed: others, such as
// too many open files, pass.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if s.adopt(conn) {
			s.sessions.Go(func() { s.serve(conn) })
		}
	}
}

// adopt remembers a connection for Close, unless that has been called.
func (s *Server) adopt(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.conns[conn] = true
	return true
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, conn)
	}()
	newSession(s, conn).run()
}
