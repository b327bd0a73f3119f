package smtpsink

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"time"
)

// maxText is how long a line of a message may be, its line end included (RFC 5321, 4.5.3.1.6).
const maxText = 1000

// line is one line as it arrived, without its end.
type line struct {
	text    string
	tooLong bool
	// bare says that it holds a CR, or ends with an LF, that stands alone. Servers that take such a line for ended
	// disagree with others about where a message ends (RFC 5321, 2.3.8), so it never counts as the last one here.
	bare bool
}

// readLine reads to the next LF. What is over the limit is read and forgotten.
func (s *session) readLine(limit int) (line, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(s.server.options.Idle)); err != nil {
		return line{}, err
	}
	var kept []byte
	tooLong := false
	for {
		part, err := s.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return line{}, err
		}
		if tooLong = tooLong || len(kept)+len(part) > limit; !tooLong {
			kept = append(kept, part...)
		}
		if err == nil {
			break
		}
	}
	text, ended := strings.CutSuffix(string(kept), "\r\n")
	return line{text: text, tooLong: tooLong, bare: !tooLong && (!ended || strings.Contains(text, "\r"))}, nil
}

func (s *session) data(argument string) error {
	if len(s.to) == 0 {
		return s.reply(503, "5.5.1 DATA comes after RCPT")
	}
	if argument != "" {
		return s.reply(501, "5.5.4 DATA has no argument")
	}
	if instead, err := s.interfere(Step{Stage: Data}); instead {
		return err
	}
	if err := s.reply(354, "end with a line that is a dot"); err != nil {
		return err
	}
	return s.receive()
}

// receive reads a message and answers for it.
func (s *session) receive() error {
	content, refusal, err := s.readContent()
	if err != nil {
		return err
	}
	from, to := *s.from, s.to
	s.reset()
	if refusal.Code != 0 {
		return s.reply(refusal.Code, refusal.Text)
	}
	return s.keep(newMessage(from, to, content, s.server.options.Now()))
}

// readContent reads to the line that is a dot, and takes off the dots that were put in front of other lines (RFC 5321,
// 4.5.2). A message that is refused is read to its end all the same, since the client hears nothing before.
func (s *session) readContent() (content []byte, refusal Action, err error) {
	var kept bytes.Buffer
	refuse := func(code int, text string) {
		if refusal.Code == 0 {
			refusal = Action{Code: code, Text: text}
		}
	}
	for first := true; ; first = false {
		line, err := s.readLine(maxText)
		if err != nil {
			return nil, Action{}, err
		}
		if first {
			if refusal = s.server.options.At(Step{Stage: Content}); refusal.Drop {
				return nil, Action{}, errEnd
			}
		}
		size := kept.Len() + len(line.text) + len("\r\n")
		switch {
		case line.tooLong:
			refuse(500, "5.6.0 a line is longer than 998 bytes")
		case line.bare:
			refuse(554, "5.6.0 a CR or LF stands alone")
		case line.text == ".":
			return kept.Bytes(), refusal, nil
		case size > s.server.options.MaxBytes:
			refuse(552, "5.3.4 the message is too long")
		default:
			kept.WriteString(strings.TrimPrefix(line.text, "."))
			kept.WriteString("\r\n")
		}
	}
}

// keep keeps a message and acknowledges it.
func (s *session) keep(message Message) error {
	if instead, err := s.interfere(Step{Stage: Ended}); instead {
		return err
	}
	if err := s.server.keep(message); err != nil {
		return s.reply(451, "4.3.0 the message cannot be written down")
	}
	if instead, err := s.interfere(Step{Stage: Kept}); instead {
		return err
	}
	return s.reply(250, "2.0.0 kept")
}
