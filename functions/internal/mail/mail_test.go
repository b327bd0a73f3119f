package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/mail"
	"patchbay/functions/internal/mail/mailtest"
	"patchbay/scripts/smtpsink"
)

func addresses(t *testing.T, texts ...string) []mail.Address {
	t.Helper()
	list := make([]mail.Address, len(texts))
	for i, text := range texts {
		address, err := mail.ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = address
	}
	return list
}

func message(t *testing.T) mail.Message {
	t.Helper()
	return mail.Message{
		ID:      "<1@example.com>",
		To:      addresses(t, "Ada <ada@example.com>"),
		Cc:      addresses(t, "bob@example.org"),
		Subject: "Grüße",
		Body:    "Hello\n.\n..\nBye",
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{})
	got, err := server.Mailer(t).Send(t.Context(), message(t))
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal([]string{"ada@example.com", "bob@example.org"}, mail.Specs(got.Accepted)) || got.Refused != nil {
		t.Errorf("delivery %+v", got)
	}
	kept := server.Kept()
	if len(kept) != 1 {
		t.Fatalf("%d messages were kept, want 1", len(kept))
	}
	want := smtpsink.Message{
		From: "support@example.com", To: []string{"ada@example.com", "bob@example.org"}, Subject: "Grüße",
		MessageID: "<1@example.com>", Text: "Hello\n.\n..\nBye\n",
	}
	kept[0].ReceivedAt, kept[0].Data = time.Time{}, ""
	if diff := cmp.Diff(want, kept[0]); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stage  smtpsink.Stage
		action smtpsink.Action
		kind   mail.Kind
		code   int
		kept   int
	}{
		"greeting 421":     {smtpsink.Connected, mailtest.Refuse(421), mail.Deferred, 421, 0},
		"greeting 554":     {smtpsink.Connected, mailtest.Refuse(554), mail.Refused, 554, 0},
		"greeting dropped": {smtpsink.Connected, mailtest.Drop(), mail.Unreachable, 0, 0},
		"MAIL 550":         {smtpsink.Sender, mailtest.Refuse(550), mail.Refused, 550, 0},
		"MAIL dropped":     {smtpsink.Sender, mailtest.Drop(), mail.Unreachable, 0, 0},
		"RCPT 550":         {smtpsink.Recipient, mailtest.Refuse(550), mail.Refused, 550, 0},
		"RCPT 451":         {smtpsink.Recipient, mailtest.Refuse(451), mail.Deferred, 451, 0},
		"RCPT 421":         {smtpsink.Recipient, mailtest.Refuse(421), mail.Deferred, 421, 0},
		"RCPT dropped":     {smtpsink.Recipient, mailtest.Drop(), mail.Unreachable, 0, 0},
		"DATA 451":         {smtpsink.Data, mailtest.Refuse(451), mail.Deferred, 451, 0},
		"DATA dropped":     {smtpsink.Data, mailtest.Drop(), mail.Unreachable, 0, 0},
		"content 552":      {smtpsink.Content, mailtest.Refuse(552), mail.Refused, 552, 0},
		"end 451":          {smtpsink.Ended, mailtest.Refuse(451), mail.Deferred, 451, 0},
		"end 554":          {smtpsink.Ended, mailtest.Refuse(554), mail.Refused, 554, 0},
		"end 354":          {smtpsink.Ended, mailtest.Refuse(354), mail.Unknown, 0, 0},
		"end dropped":      {smtpsink.Ended, mailtest.Drop(), mail.Unknown, 0, 0},
		"answer lost":      {smtpsink.Kept, mailtest.Drop(), mail.Unknown, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, smtpsink.Options{At: mailtest.At(test.stage, "", test.action)})
			_, err := server.Mailer(t).Send(t.Context(), message(t))
			got, ok := errors.AsType[*mail.Error](err)
			if !ok || got.Kind != test.kind || got.Code != test.code {
				t.Errorf("error %v, want kind %s and code %d", err, test.kind, test.code)
			}
			if kept := len(server.Kept()); kept != test.kept {
				t.Errorf("%d messages were kept, want %d", kept, test.kept)
			}
			text := mail.Fail(t.Context(), err).Error()
			if strings.Contains(text, "SERVER-WORDS") || strings.Contains(text, "127.0.0.1") {
				t.Errorf("the failure shows the server: %s", text)
			}
		})
	}
}

// A connection that ends before all of a message was written leaves nothing behind, so that is no unknown outcome. The
// message is larger than what sockets hold.
func TestDroppedInTheMiddleOfALargeMessage(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{At: mailtest.At(smtpsink.Content, "", mailtest.Drop())})
	large := message(t)
	large.Body = strings.Repeat("All work and no play makes Jack a dull boy.\n", 300_000)
	_, err := server.Mailer(t).Send(t.Context(), large)
	got, ok := errors.AsType[*mail.Error](err)
	if !ok || got.Kind != mail.Unreachable {
		t.Errorf("error %v, want an unreachable server", err)
	}
	if len(server.Kept()) != 0 {
		t.Error("a part of a message was kept")
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{})
	mailer := server.Mailer(t)
	server.Close()
	_, err := mailer.Send(t.Context(), message(t))
	if got, ok := errors.AsType[*mail.Error](err); !ok || got.Kind != mail.Unreachable {
		t.Errorf("error %v, want an unreachable server", err)
	}
}

// hang keeps a server from going on at a stage until the test ends.
func hang(t *testing.T, stage smtpsink.Stage, reached func()) func(smtpsink.Step) smtpsink.Action {
	t.Helper()
	return func(step smtpsink.Step) smtpsink.Action {
		if step.Stage == stage {
			reached()
			<-t.Context().Done() // before the server's own cleanup
			return mailtest.Drop()
		}
		return smtpsink.Action{}
	}
}

func TestTheContextEndsAStep(t *testing.T) {
	t.Parallel()
	for stage, want := range map[smtpsink.Stage]mail.Kind{
		smtpsink.Connected: mail.Unreachable, smtpsink.Recipient: mail.Unreachable, smtpsink.Data: mail.Unreachable,
		smtpsink.Ended: mail.Unknown, smtpsink.Kept: mail.Unknown,
	} {
		t.Run(string(stage), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			server := mailtest.Start(t, smtpsink.Options{At: hang(t, stage, cancel)})
			_, err := server.Mailer(t).Send(ctx, message(t))
			if got, ok := errors.AsType[*mail.Error](err); !ok || got.Kind != want {
				t.Errorf("error %v, want kind %s", err, want)
			}
		})
	}
}

func TestNothingIsBegunWithoutTimeToConfirmIt(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{})
	session, err := server.Mailer(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 1400*time.Millisecond) // less than a second and the reserve
	defer cancel()
	_, err = session.Send(ctx, message(t))
	if got, ok := errors.AsType[*mail.Error](err); !ok || got.Kind != mail.Unreachable {
		t.Errorf("error %v, want one of time", err)
	}
	if len(server.Kept()) != 0 {
		t.Error("a message was sent")
	}
}

func TestSomeRecipientsAreRefused(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{
		At: mailtest.At(smtpsink.Recipient, "ada@example.com", mailtest.Refuse(550)),
	})
	got, err := server.Mailer(t).Send(t.Context(), message(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Accepted) != 1 || len(got.Refused) != 1 {
		t.Fatalf("delivery %+v", got)
	}
	if text := got.Refused[0].String(); text != "ada@example.com (550, refused for good)" {
		t.Errorf("refused %s", text)
	}
	if kept := server.Kept(); len(kept) != 1 || !cmp.Equal(kept[0].To, []string{"bob@example.org"}) {
		t.Errorf("kept %v", kept)
	}
}

func TestASessionSendsSeveralMessages(t *testing.T) {
	t.Parallel()
	refuse := mailtest.At(smtpsink.Recipient, "nobody@example.org", mailtest.Refuse(550))
	server := mailtest.Start(t, smtpsink.Options{At: refuse})
	session, err := server.Mailer(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, to := range []string{"ada@example.com", "nobody@example.org", "bob@example.org"} {
		_, err := session.Send(t.Context(), mail.Message{ID: "<1@example.com>", To: addresses(t, to), Subject: to})
		if wantError := to == "nobody@example.org"; (err != nil) != wantError || session.Broken() {
			t.Errorf("%s: error %v, broken %v", to, err, session.Broken())
		}
	}
	var subjects []string
	for _, kept := range server.Kept() {
		subjects = append(subjects, kept.Subject)
	}
	if diff := cmp.Diff([]string{"ada@example.com", "bob@example.org"}, subjects); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestABrokenSessionSendsNothing(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{At: mailtest.At(smtpsink.Ended, "", mailtest.Drop())})
	session, err := server.Mailer(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, want := range []mail.Kind{mail.Unknown, mail.Unreachable} {
		_, err := session.Send(t.Context(), message(t))
		if got, ok := errors.AsType[*mail.Error](err); !ok || got.Kind != want || !session.Broken() {
			t.Errorf("error %v, want kind %s; broken %v", err, want, session.Broken())
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	mailer := mailtest.Start(t, smtpsink.Options{}).Mailer(t)
	if first, second := mailer.ID(), mailer.ID(); first == second {
		t.Errorf("two ids are %s", first)
	}
	first, again, other := mailer.ID("ab", "c"), mailer.ID("ab", "c"), mailer.ID("a", "bc")
	if first != again || first == other {
		t.Errorf("ids do not follow from their parts: %s, %s; %s", first, again, other)
	}
	if id := mailer.ID("a"); !strings.HasPrefix(id, "<") || !strings.HasSuffix(id, "@example.com>") {
		t.Errorf("id %s", id)
	}
}

func TestOptionsThatCannotBeRight(t *testing.T) {
	t.Parallel()
	for want, options := range map[string]mail.Options{
		"must be HOST:PORT":  {Address: "mail.example.com", From: mailtest.From},
		`is ""`:              {From: mailtest.From},
		"sender's address":   {Address: "localhost:25", From: "support"},
		"not one e-mail add": {Address: "localhost:25"},
	} {
		if _, err := mail.New(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", options, err, want)
		}
	}
}
