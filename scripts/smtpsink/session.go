package smtpsink

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// hostname is the server's name in its greeting: one that no mail can be sent to (RFC 2606).
const hostname = "sink.invalid"

// maxCommand is how long a command may be, its line end included. RFC 5321, 4.5.3.1.4 asks for 512 at least, and for
// more where an extension adds parameters.
const maxCommand = 1024

// errEnd ends a session that is done or dropped.
var errEnd = errors.New("the conversation has ended")

// session is the conversation with one client.
type session struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader

	greeted bool    // EHLO or HELO was sent
	from    *string // the sender of the message in the making; nil when there is none
	to      []string
}

func newSession(server *Server, conn net.Conn) *session {
	return &session{server: server, conn: conn, in: bufio.NewReader(conn)}
}

// run holds the conversation to its end. Its errors are those of a client that has gone, which is no concern of a sink.
func (s *session) run() {
	if instead, _ := s.interfere(Step{Stage: Connected}); instead {
		return
	}
	if err := s.reply(220, hostname+" ESMTP keeps mail, delivers none"); err != nil {
		return
	}
	for {
		line, err := s.readLine(maxCommand)
		if err != nil {
			return
		}
		if err := s.obey(line); err != nil {
			return
		}
	}
}

func (s *session) obey(line line) error {
	switch {
	case line.tooLong:
		return s.reply(500, "5.5.2 the line is too long")
	case line.bare:
		return s.reply(500, "5.5.2 lines end with CR and LF")
	}
	verb, argument, _ := strings.Cut(line.text, " ")
	switch strings.ToUpper(verb) {
	case "EHLO":
		return s.hello(argument, "\nSIZE "+strconv.Itoa(s.server.options.MaxBytes)+
			"\n8BITMIME\nPIPELINING\nENHANCEDSTATUSCODES")
	case "HELO":
		return s.hello(argument, "")
	case "MAIL":
		return s.mail(argument)
	case "RCPT":
		return s.recipient(argument)
	case "DATA":
		return s.data(argument)
	case "RSET":
		s.reset()
		return s.reply(250, "2.0.0 forgotten")
	case "NOOP":
		return s.reply(250, "2.0.0 still here")
	case "VRFY":
		return s.reply(252, "2.5.0 send a message and see")
	case "QUIT":
		return errors.Join(s.reply(221, "2.0.0 bye"), errEnd)
	}
	return s.reply(500, "5.5.1 this command is not known")
}

func (s *session) hello(client, extensions string) error {
	if strings.TrimSpace(client) == "" {
		return s.reply(501, "5.5.4 give your own name")
	}
	s.reset()
	s.greeted = true
	return s.reply(250, hostname+extensions)
}

func (s *session) reset() { s.from, s.to = nil, nil }

func (s *session) mail(argument string) error {
	if !s.greeted || s.from != nil {
		return s.reply(503, "5.5.1 MAIL comes after EHLO, and once")
	}
	address, parameters, err := parsePath("FROM:", argument)
	if err != nil {
		return s.reply(501, "5.1.7 "+err.Error())
	}
	if code, text := s.refuseParameters(parameters); code != 0 {
		return s.reply(code, text)
	}
	return s.accept(Step{Stage: Sender, Address: address}, func() { s.from = &address })
}

// refuseParameters checks the parameters of MAIL; code 0 means that they are fine.
func (s *session) refuseParameters(parameters []string) (code int, text string) {
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(strings.ToUpper(parameter), "=")
		switch {
		case name == "BODY" && (value == "7BIT" || value == "8BITMIME"):
		case name == "SIZE":
			size, err := strconv.ParseUint(value, 10, 63)
			if err != nil {
				return 501, "5.5.4 SIZE is a number of bytes"
			}
			if size > uint64(s.server.options.MaxBytes) {
				return 552, "5.3.4 the message is too long"
			}
		default:
			return 555, "5.5.4 this parameter is not known"
		}
	}
	return 0, ""
}

func (s *session) recipient(argument string) error {
	if s.from == nil {
		return s.reply(503, "5.5.1 RCPT comes after MAIL")
	}
	address, parameters, err := parsePath("TO:", argument)
	switch {
	case err != nil:
		return s.reply(501, "5.1.3 "+err.Error())
	case address == "":
		return s.reply(501, "5.1.3 a recipient has an address")
	case len(parameters) > 0:
		return s.reply(555, "5.5.4 this parameter is not known")
	case len(s.to) >= s.server.options.MaxRecipients:
		return s.reply(452, "4.5.3 there are too many recipients")
	}
	return s.accept(Step{Stage: Recipient, Address: address}, func() { s.to = append(s.to, address) })
}

// accept answers 250 and does what that means, unless the step is interfered with.
func (s *session) accept(step Step, then func()) error {
	if instead, err := s.interfere(step); instead {
		return err
	}
	then()
	return s.reply(250, "2.1.0 fine")
}

// interfere does what Options.At wants at a step, and reports whether it wanted anything.
func (s *session) interfere(step Step) (instead bool, err error) {
	action := s.server.options.At(step)
	switch {
	case action.Drop:
		return true, errEnd
	case action.Code != 0:
		return true, s.reply(action.Code, action.Text)
	}
	return false, nil
}

// reply writes one reply; a text of several lines becomes a reply of several lines (RFC 5321, 4.2.1).
func (s *session) reply(code int, text string) error {
	lines := strings.Split(text, "\n")
	var out strings.Builder
	for i, line := range lines {
		separator := "-"
		if i == len(lines)-1 {
			separator = " "
		}
		fmt.Fprintf(&out, "%d%s%s\r\n", code, separator, line)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.server.options.Idle)); err != nil {
		return err
	}
	_, err := s.conn.Write([]byte(out.String()))
	return err
}
