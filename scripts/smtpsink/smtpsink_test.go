package smtpsink_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/smtpsink"
)

// now is when all mail arrives.
var now = time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC)

// start starts a sink that ends with the test and returns it with what it receives.
func start(t *testing.T, options smtpsink.Options) (*smtpsink.Server, chan smtpsink.Message) {
	t.Helper()
	received := make(chan smtpsink.Message, 100)
	options.Received = func(m smtpsink.Message) { received <- m }
	options.Now = func() time.Time { return now }
	sink, err := smtpsink.Start("127.0.0.1:0", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	})
	return sink, received
}

const mail = "From: Ada <ada@example.com>\r\n" +
	"To: bob@example.org\r\n" +
	"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n" +
	"Message-ID: <1@example.com>\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\n" +
	"Content-Transfer-Encoding: quoted-printable\r\n" +
	"\r\n" +
	".one dot\r\n.\r\n..two=2E\r\n"

func TestMailOfTheStandardLibrarysClient(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mail.jsonl")
	sink, received := start(t, smtpsink.Options{File: file})
	to := []string{"bob@example.org", `"a > b"@example.org`}
	want := smtpsink.Message{
		ReceivedAt: now, From: "ada@example.com", To: to, Subject: "Grüße", MessageID: "<1@example.com>",
		Text: ".one dot\n.\n..two.\n", Data: mail,
	}
	for range 2 {
		if err := smtp.SendMail(sink.Address, nil, "ada@example.com", to, []byte(mail)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, <-received); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("the file has %d lines, want 2: %s", len(lines), data)
	}
	for _, line := range lines {
		var got smtpsink.Message
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	}
	described := `mail from ada@example.com to bob@example.org, "a > b"@example.org: "Grüße", 228 bytes`
	if got := want.String(); got != described {
		t.Errorf("description %q, want %q", got, described)
	}
}

// talk sends lines as they stand and compares the codes of the replies, an empty line sending nothing.
func talk(t *testing.T, sink *smtpsink.Server, conversation ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", sink.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	replies := textproto.NewReader(bufio.NewReader(conn))
	for i := 0; i < len(conversation); i += 2 {
		if _, err := io.WriteString(conn, conversation[i]); err != nil {
			t.Fatal(err)
		}
		if got := next(replies); got != conversation[i+1] {
			t.Fatalf("%.60q is answered %s, want %s", conversation[i], got, conversation[i+1])
		}
	}
}

// next reads a reply and returns its code, or "end" when there is none.
func next(replies *textproto.Reader) string {
	code, text, err := replies.ReadResponse(0)
	if code == 0 {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Sprint(err)
		}
		return "end"
	}
	if text == "" {
		return "a reply without text"
	}
	return fmt.Sprint(code)
}

const (
	hello = "EHLO client.example.com\r\n"
	from  = "MAIL FROM:<ada@example.com>\r\n"
	to    = "RCPT TO:<bob@example.org>\r\n"
	data  = "DATA\r\n"
)

func TestConversations(t *testing.T) {
	t.Parallel()
	sink, received := start(t, smtpsink.Options{MaxBytes: 1100, MaxRecipients: 2})
	for name, conversation := range map[string][]string{
		"commands": {
			"", "220", "noop\r\n", "250", "VRFY bob\r\n", "252", "HELP\r\n", "500", "QUIT\r\n", "221", "", "end",
		},
		"order": {"", "220", from, "503", hello, "250", to, "503", data, "503", from, "250", from, "503", data, "503",
			to, "250", "RSET\r\n", "250", data, "503"},
		"HELO":           {"", "220", "HELO a\r\n", "250", from, "250"},
		"EHLO of nobody": {"", "220", "EHLO\r\n", "501"},
		"parameters": {"", "220", hello, "250", "MAIL FROM:<a@example.com> SIZE=1100 BODY=8BITMIME\r\n", "250",
			"RCPT TO:<b@example.com> NOTIFY=NEVER\r\n", "555"},
		"too long":            {"", "220", hello, "250", "MAIL FROM:<a@example.com> SIZE=1101\r\n", "552"},
		"no size":             {"", "220", hello, "250", "MAIL FROM:<a@example.com> SIZE=-1\r\n", "501"},
		"unknown parameter":   {"", "220", hello, "250", "MAIL FROM:<a@example.com> SMTPUTF8\r\n", "555"},
		"no sender":           {"", "220", hello, "250", "MAIL FROM:<>\r\n", "250", "RCPT TO:<>\r\n", "501"},
		"no brackets":         {"", "220", hello, "250", "MAIL FROM:a@example.com\r\n", "501"},
		"no end":              {"", "220", hello, "250", "MAIL FROM:<a@example.com\r\n", "501"},
		"no prefix":           {"", "220", hello, "250", "MAIL <a@example.com>\r\n", "501"},
		"no address":          {"", "220", hello, "250", "MAIL FROM:<a>\r\n", "501"},
		"not ASCII":           {"", "220", hello, "250", "MAIL FROM:<ü@example.com>\r\n", "501"},
		"two addresses":       {"", "220", hello, "250", "MAIL FROM:<a@example.com><b@example.com>\r\n", "501"},
		"too many recipients": {"", "220", hello, "250", from, "250", to, "250", to, "250", to, "452"},
		"long command":        {"", "220", "NOOP " + strings.Repeat("a", 8000) + "\r\n", "500", "NOOP\r\n", "250"},
		"bare LF":             {"", "220", "NOOP\n", "500"},
		"bare CR":             {"", "220", "NOOP\rNOOP\r\n", "500"},
		"argument of DATA":    {"", "220", hello, "250", from, "250", to, "250", "DATA now\r\n", "501"},
		"bare LF in a message": {"", "220", hello, "250", from, "250", to, "250", data, "354",
			"a\n.\nMAIL FROM:<x@example.com>\r\n.\r\n", "554", "NOOP\r\n", "250"},
		"bare CR in a message": {"", "220", hello, "250", from, "250", to, "250", data, "354", "a\rb\r\n.\r\n", "554"},
		"long line in a message": {"", "220", hello, "250", from, "250", to, "250", data, "354",
			strings.Repeat("a", 999) + "\r\n.\r\n", "500"},
		"long message": {"", "220", hello, "250", from, "250", to, "250", data, "354",
			strings.Repeat(strings.Repeat("a", 99)+"\r\n", 11) + ".\r\n", "552", from, "250"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk(t, sink, conversation...)
		})
	}
	t.Cleanup(func() {
		if len(received) > 0 {
			t.Errorf("a message was kept: %v", <-received)
		}
	})
}

func TestLongestLineAndMessage(t *testing.T) {
	t.Parallel()
	sink, received := start(t, smtpsink.Options{MaxBytes: 1100})
	longest := strings.Repeat("a", 998) + "\r\n" + strings.Repeat("b", 98) + "\r\n"
	talk(t, sink, "", "220", hello, "250", from, "250", to, "250", data, "354", longest+".\r\n", "250")
	if got := <-received; got.Data != longest {
		t.Errorf("%d bytes were kept, want %d", len(got.Data), len(longest))
	}
}

func TestPipelining(t *testing.T) {
	t.Parallel()
	sink, received := start(t, smtpsink.Options{})
	talk(t, sink, "", "220", hello+from+to+data, "250", "", "250", "", "250", "", "354", "a\r\n.\r\nQUIT\r\n", "250",
		"", "221", "", "end")
	if got := <-received; got.Data != "a\r\n" || got.Subject != "" {
		t.Errorf("kept %+v", got)
	}
}

// at makes a server act at one stage.
func at(stage smtpsink.Stage, action smtpsink.Action) func(smtpsink.Step) smtpsink.Action {
	return func(step smtpsink.Step) smtpsink.Action {
		if step.Stage == stage {
			return action
		}
		return smtpsink.Action{}
	}
}

func TestFailingOnPurpose(t *testing.T) {
	t.Parallel()
	const message = "a\r\n.\r\n"
	refuse, drop := smtpsink.Action{Code: 451, Text: "later"}, smtpsink.Action{Drop: true}
	for name, test := range map[string]struct {
		stage        smtpsink.Stage
		action       smtpsink.Action
		conversation []string
		kept         int
	}{
		"connected, refused": {smtpsink.Connected, refuse, []string{"", "451", "", "end"}, 0},
		"connected, dropped": {smtpsink.Connected, drop, []string{"", "end"}, 0},
		"sender, refused":    {smtpsink.Sender, refuse, []string{"", "220", hello, "250", from, "451", to, "503"}, 0},
		"sender, dropped":    {smtpsink.Sender, drop, []string{"", "220", hello, "250", from, "end"}, 0},
		"recipient, refused": {smtpsink.Recipient, refuse,
			[]string{"", "220", hello, "250", from, "250", to, "451", data, "503"}, 0},
		"data, refused": {smtpsink.Data, refuse,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "451"}, 0},
		"data, dropped": {smtpsink.Data, drop,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "end"}, 0},
		"content, refused": {smtpsink.Content, refuse,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "354", message, "451"}, 0},
		"content, dropped": {smtpsink.Content, drop,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "354", "a\r\n", "end"}, 0},
		"ended, refused": {smtpsink.Ended, refuse,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "354", message, "451", from, "250"}, 0},
		"ended, dropped": {smtpsink.Ended, drop,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "354", message, "end"}, 0},
		"kept, refused": {smtpsink.Kept, refuse,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "354", message, "451"}, 1},
		"kept, dropped": {smtpsink.Kept, drop,
			[]string{"", "220", hello, "250", from, "250", to, "250", data, "354", message, "end"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink, received := start(t, smtpsink.Options{At: at(test.stage, test.action)})
			talk(t, sink, test.conversation...)
			if len(received) != test.kept {
				t.Errorf("%d messages were kept, want %d", len(received), test.kept)
			}
		})
	}
}

func TestStepsNameTheirAddress(t *testing.T) {
	t.Parallel()
	sink, received := start(t, smtpsink.Options{At: func(step smtpsink.Step) smtpsink.Action {
		if step == (smtpsink.Step{Stage: smtpsink.Recipient, Address: "nobody@example.org"}) {
			return smtpsink.Action{Code: 550, Text: "5.1.1 no such user"}
		}
		return smtpsink.Action{}
	}})
	talk(t, sink, "", "220", hello, "250", from, "250", "RCPT TO:<nobody@example.org>\r\n", "550", to, "250",
		data, "354", "a\r\n.\r\n", "250")
	if got := <-received; !cmp.Equal(got.To, []string{"bob@example.org"}) {
		t.Errorf("kept for %v", got.To)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mail.jsonl")
	sink, received := start(t, smtpsink.Options{File: file})
	const clients = 20
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			sender := fmt.Sprintf("client%d@example.com", i)
			if err := smtp.SendMail(sink.Address, nil, sender, []string{"bob@example.org"}, []byte(mail)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	senders := map[string]bool{}
	for range len(received) {
		senders[(<-received).From] = true
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(senders) != clients || strings.Count(string(written), "\n") != clients {
		t.Errorf("%d senders, %d lines; want %d", len(senders), strings.Count(string(written), "\n"), clients)
	}
}

func TestIdleClientsAreLeft(t *testing.T) {
	t.Parallel()
	sink, _ := start(t, smtpsink.Options{Idle: 20 * time.Millisecond})
	talk(t, sink, "", "220", "NOO", "end")
}

func TestCloseEndsConversations(t *testing.T) {
	t.Parallel()
	sink, _ := start(t, smtpsink.Options{})
	conn, err := net.Dial("tcp", sink.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	replies := textproto.NewReader(bufio.NewReader(conn))
	if got := next(replies); got != "220" {
		t.Fatalf("greeting %s", got)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := replies.ReadLine(); err == nil {
		t.Error("the conversation goes on")
	}
	if _, err := net.Dial("tcp", sink.Address); err == nil {
		t.Error("the server still listens")
	}
}

func TestStartingWhatCannotStart(t *testing.T) {
	t.Parallel()
	if _, err := smtpsink.Start("127.0.0.1:0", smtpsink.Options{File: t.TempDir()}); err == nil {
		t.Error("a folder was opened for mail")
	}
	file := filepath.Join(t.TempDir(), "mail.jsonl")
	if _, err := smtpsink.Start("127.0.0.1:port", smtpsink.Options{File: file}); err == nil {
		t.Error("a port was listened on that is none")
	}
}
