package localstack

import (
	"fmt"
	"path/filepath"

	"patchbay/scripts/smtpsink"
)

// mailFile keeps, in the data folder, every mail that a tool sent, one JSON object a line.
const mailFile = "mail.jsonl"

// startMail starts the mail server that stands in for a real one: it shows what it was sent and delivers nothing.
func (s *Stack) startMail() error {
	sink, err := smtpsink.Start("127.0.0.1:0", smtpsink.Options{
		File:     filepath.Join(s.options.Data, mailFile),
		Received: func(m smtpsink.Message) { s.tell("mail", "", []byte(m.String())) },
	})
	if err != nil {
		return fmt.Errorf("starting the mail server: %w", err)
	}
	s.mail = sink
	return nil
}
