package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"time"
)

// Session is a conversation with the server, in which several messages can be sent, one after another.
type Session struct {
	mailer *Mailer
	conn   net.Conn
	client *smtp.Client
	begun  bool // a message was begun, so that the next one starts with RSET
	broken bool
}

// Delivery says for whom the server took a message.
type Delivery struct {
	Accepted []Address
	// Refused are the recipients that it did not take it for, while it did for others.
	Refused []Refusal
}

// Refusal is a recipient whom the server does not accept.
type Refusal struct {
	Address Address
	// Code is the server's reply code: 5xx for good, 4xx for now (RFC 5321, 4.2.1).
	Code int
}

// Send opens a session, sends one message and ends the session. Errors are *Error.
func (m *Mailer) Send(ctx context.Context, message Message) (Delivery, error) {
	session, err := m.Open(ctx)
	if err != nil {
		return Delivery{}, err
	}
	defer session.Close()
	return session.Send(ctx, message)
}

// Open connects to the server. Errors are *Error. The session is to be closed.
func (m *Mailer) Open(ctx context.Context) (*Session, error) {
	dial, cancel := context.WithTimeout(ctx, m.budget(ctx, m.timeout))
	defer cancel()
	conn, err := new(net.Dialer).DialContext(dial, "tcp", m.address)
	if err != nil {
		return nil, failure("connecting", err)
	}
	s := &Session{mailer: m, conn: conn}
	defer s.endWith(ctx)()
	if err := s.greet(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) greet(ctx context.Context) error {
	if err := s.arm(ctx, s.mailer.timeout); err != nil {
		return failure("greeting", err)
	}
	client, err := smtp.NewClient(s.conn, "")
	if err != nil {
		return failure("greeting", err)
	}
	s.client = client
	if err := client.Hello(literal(s.conn.LocalAddr())); err != nil {
		return failure("EHLO", err)
	}
	return nil
}

// literal is the name of a client that has none (RFC 5321, 4.1.3).
func literal(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return "localhost"
	}
	if ip := tcp.IP.To4(); ip != nil {
		return "[" + ip.String() + "]"
	}
	return "[IPv6:" + tcp.IP.String() + "]"
}

// Send sends a message to all its recipients that the server accepts. Errors are *Error; when the server accepts no
// recipient, one that names them all.
func (s *Session) Send(ctx context.Context, message Message) (Delivery, error) {
	recipients := slices.Concat(message.To, message.Cc)
	if len(recipients) == 0 {
		return Delivery{}, errNoRecipient
	}
	content, err := message.encode(s.mailer.from, s.mailer.now())
	if err != nil {
		return Delivery{}, err
	}
	if s.broken { // another command would end, and so send, a message that was left in the middle
		return Delivery{}, failure("beginning", net.ErrClosed)
	}
	if s.mailer.budget(ctx, s.mailer.timeout) < min(minSend, s.mailer.timeout) {
		return Delivery{}, failure("beginning", context.DeadlineExceeded)
	}
	defer s.endWith(ctx)()
	delivery, err := s.envelope(ctx, recipients)
	if err == nil {
		err = s.content(ctx, content)
	}
	if err != nil {
		s.broken = s.broken || broke(err)
		return Delivery{}, err
	}
	return delivery, nil
}

// envelope says who sends and for whom.
func (s *Session) envelope(ctx context.Context, recipients []Address) (Delivery, error) {
	if s.begun {
		if err := s.step(ctx, "RSET", s.client.Reset); err != nil {
			return Delivery{}, err
		}
	}
	s.begun = true
	sender := func() error { return s.client.Mail(s.mailer.from.spec) }
	if err := s.step(ctx, "MAIL", sender); err != nil {
		return Delivery{}, err
	}
	var delivery Delivery
	for _, recipient := range recipients {
		err := s.step(ctx, "RCPT", func() error { return s.client.Rcpt(recipient.spec) })
		switch code := replyCode(err); {
		case err == nil:
			delivery.Accepted = append(delivery.Accepted, recipient)
		case code == 0 || code == closing:
			return Delivery{}, err
		default:
			delivery.Refused = append(delivery.Refused, Refusal{Address: recipient, Code: code})
		}
	}
	if len(delivery.Accepted) == 0 {
		return Delivery{}, noRecipient(delivery.Refused)
	}
	return delivery, nil
}

// content sends the message itself.
func (s *Session) content(ctx context.Context, content []byte) error {
	var data io.WriteCloser
	begin := func() (err error) {
		data, err = s.client.Data()
		return err
	}
	if err := s.step(ctx, "DATA", begin); err != nil {
		return err
	}
	// Written out before its last line is: what fails here leaves a message without an end, which no server delivers.
	write := func() error {
		_, err := data.Write(content)
		return errors.Join(err, s.client.Text.W.Flush())
	}
	if err := s.step(ctx, "content", write); err != nil {
		return err
	}
	if err := s.arm(ctx, 0); err != nil {
		return failure("end of content", err)
	}
	return confirmation(data.Close())
}

// confirmation is the failure for what came back for a whole message; only a reply says for sure what became of it.
func confirmation(err error) error {
	code := replyCode(err)
	switch {
	case err == nil || code/100 == 2:
		return nil
	case code/100 == 4 || code/100 == 5:
		return failure("end of content", err)
	}
	return &Error{Kind: Unknown, step: "end of content", cause: err}
}

// step does one thing within its time.
func (s *Session) step(ctx context.Context, name string, do func() error) error {
	if err := s.arm(ctx, s.mailer.timeout); err != nil {
		return failure(name, err)
	}
	if err := do(); err != nil {
		return failure(name, err)
	}
	return nil
}

// arm gives the next step its time: at most the given one, 0 meaning all that the context has.
func (s *Session) arm(ctx context.Context, most time.Duration) error {
	if err := s.conn.SetDeadline(time.Now().Add(s.mailer.budget(ctx, most))); err != nil {
		return fmt.Errorf("setting the deadline: %w", err)
	}
	return ctx.Err() // asked after the deadline was set, over which endWith may have set its own
}

// budget is the time for a step. Without a deadline of the context, and without a bound, it is the timeout.
func (m *Mailer) budget(ctx context.Context, most time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return m.timeout
	}
	left := time.Until(deadline) - reserve
	if most == 0 {
		return left
	}
	return min(left, most)
}

// endWith ends the step in progress when the context ends, until the function that it returns is called.
func (s *Session) endWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
}

// Broken reports whether the session can send no more messages.
func (s *Session) Broken() bool { return s.broken }

// Close takes leave of the server and ends the connection. There is nothing to do about an error: whatever was sent has
// been confirmed or reported.
func (s *Session) Close() {
	if !s.broken && s.conn.SetDeadline(time.Now().Add(min(s.mailer.timeout, reserve/2))) == nil {
		_ = s.client.Quit()
	}
	_ = s.conn.Close()
}

// closing is the code with which a server ends the connection by itself (RFC 5321, 3.8).
const closing = 421

// replyCode is the code of the server's reply that an error stands for; 0 when it stands for none.
func replyCode(err error) int {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return reply.Code
	}
	return 0
}
