package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/mail/mailtest"
	"patchbay/scripts/smtpsink"
	"patchbay/shared/principal"
	"patchbay/shared/tool/tooltest"
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, send(nil))
}

func TestSend(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments string
		to        []string
		headers   []string
		subject   string
		text      string
	}{
		"a list, a copy, a name": {
			`{"to":["ada@example.com","Zoë <zoe@example.org>"],"cc":["bob@example.org"],"subject":"Größe",` +
				`"body":"Hi,\n.\nbye 🙂"}`,
			[]string{"ada@example.com", "zoe@example.org", "bob@example.org"},
			[]string{"To: ada@example.com, =?utf-8?b?Wm/Dqw==?= <zoe@example.org>\r\n", "Cc: bob@example.org\r\n",
				"From: \"Support\" <support@example.com>\r\n"},
			"Größe", "Hi,\n.\nbye 🙂\n",
		},
		"one text": {
			`{"to":"ada@example.com","subject":"x","body":"y"}`, []string{"ada@example.com"},
			[]string{"To: ada@example.com\r\n"}, "x", "y\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, smtpsink.Options{})
			got := tooltest.Structured[Output](t, tooltest.Call(t, send(server.Mailer(t)), test.arguments))
			kept := server.Kept()
			if len(kept) != 1 {
				t.Fatalf("%d messages were sent, want 1", len(kept))
			}
			want := Output{MessageID: kept[0].MessageID, AcceptedRecipients: test.to}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if kept[0].Subject != test.subject || kept[0].Text != test.text || !cmp.Equal(kept[0].To, test.to) {
				t.Errorf("message %+v", kept[0])
			}
			for _, header := range test.headers {
				if !strings.Contains(kept[0].Data, header) {
					t.Errorf("%q is not in %s", header, kept[0].Data)
				}
			}
		})
	}
}

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{})
	id := func(subject, key, subjectOfCaller string) string {
		arguments := map[string]any{"to": "ada@example.com", "subject": subject, "body": "y"}
		caller := tooltest.Options{IdempotencyKey: key, Principal: principal.Principal{Subject: subjectOfCaller}}
		return tooltest.Structured[Output](t, tooltest.Call(t, send(server.Mailer(t)), arguments, caller)).MessageID
	}
	first := id("x", "k", "u1")
	if again := id("x", "k", "u1"); again != first {
		t.Errorf("two executions of one call have the ids %s and %s", first, again)
	}
	for name, other := range map[string]string{
		"key": id("x", "k2", "u1"), "caller": id("x", "k", "u2"), "subject": id("y", "k", "u1"),
	} {
		if other == first {
			t.Errorf("a call with another %s has the same id", name)
		}
	}
	if one, two := id("x", "", "u1"), id("x", "", "u1"); one == two {
		t.Errorf("two calls without a key have the id %s", one)
	}
}

func TestSomeRecipientsAreRefused(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{
		At: mailtest.At(smtpsink.Recipient, "nobody@example.org", mailtest.Refuse(550)),
	})
	got := tooltest.Structured[Output](t, tooltest.Call(t, send(server.Mailer(t)),
		`{"to":["ada@example.com","nobody@example.org"],"subject":"x","body":"y"}`))
	want := Output{
		MessageID: got.MessageID, AcceptedRecipients: []string{"ada@example.com"},
		RefusedRecipients: []refused{{Address: "nobody@example.org", Code: 550}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stage  smtpsink.Stage
		action smtpsink.Action
		code   string
		part   string
		kept   int
	}{
		"no server":          {smtpsink.Connected, mailtest.Drop(), "mail_unavailable", "Nothing was sent", 0},
		"busy":               {smtpsink.Connected, mailtest.Refuse(421), "mail_deferred", "421", 0},
		"sender refused":     {smtpsink.Sender, mailtest.Refuse(550), "mail_refused", "550", 0},
		"recipient refused":  {smtpsink.Recipient, mailtest.Refuse(550), "recipients_refused", "(550, refused for good)", 0},
		"recipient deferred": {smtpsink.Recipient, mailtest.Refuse(450), "recipients_refused", "(450, refused for now)", 0},
		"message deferred":   {smtpsink.Ended, mailtest.Refuse(451), "mail_deferred", "try again", 0},
		"lost within it":     {smtpsink.Data, mailtest.Drop(), "mail_unavailable", "Nothing was sent", 0},
		"lost after it":      {smtpsink.Ended, mailtest.Drop(), "outcome_unknown", "may be on its way or not", 0},
		"answer lost":        {smtpsink.Kept, mailtest.Drop(), "outcome_unknown", "Do not send it again", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, smtpsink.Options{At: mailtest.At(test.stage, "", test.action)})
			got := tooltest.Call(t, send(server.Mailer(t)), `{"to":"ada@example.com","subject":"x","body":"y"}`)
			if got.Code != test.code || !strings.Contains(got.Text(), test.part) {
				t.Errorf("code %q, text %q; want %s with %q", got.Code, got.Text(), test.code, test.part)
			}
			if kept := len(server.Kept()); kept != test.kept {
				t.Errorf("%d messages were sent, want %d", kept, test.kept)
			}
		})
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, smtpsink.Options{At: func(smtpsink.Step) smtpsink.Action {
		t.Error("the mail server was asked")
		return smtpsink.Action{}
	}})
	for want, arguments := range map[string]map[string]any{
		"to":         {"subject": "x", "body": "y"},
		"1":          {"to": []string{}, "subject": "x", "body": "y"},
		"cc":         {"to": "a@example.com", "cc": "", "subject": "x", "body": "y"},
		"subject":    {"to": "a@example.com", "subject": "x\r\nBcc: eve@example.com", "body": "y"},
		"pattern":    {"to": "a@example.com", "subject": "  ", "body": "y"},
		"200":        {"to": "a@example.com", "subject": strings.Repeat("x", 201), "body": "y"},
		"body":       {"to": "a@example.com", "subject": "x"},
		"bcc":        {"to": "a@example.com", "subject": "x", "body": "y", "bcc": "eve@example.com"},
		"20":         {"to": strings.Split(strings.Repeat("a@example.com,", 21), ","), "subject": "x", "body": "y"},
		"idempotenc": {"to": "a@example.com", "subject": "x", "body": "y", "idempotencyKey": "a\nb"},
	} {
		got := tooltest.Call(t, send(server.Mailer(t)), arguments)
		if !got.Refused || !strings.Contains(got.Text(), want) {
			t.Errorf("%v: refused %v, text %q; want one with %q", arguments, got.Refused, got.Text(), want)
		}
	}
	for _, address := range []string{
		"ada", "a@example.com, b@example.com", "ü@example.com", "a@example.com\nBcc: e@example.com",
	} {
		got := tooltest.Call(t, send(server.Mailer(t)), Input{
			To: Recipients{"a@example.com"}, Cc: Recipients{address}, Subject: "x", Body: "y",
		})
		if got.Code != "invalid_address" || !strings.Contains(got.Text(), "In cc, ") {
			t.Errorf("%q: code %q, text %q", address, got.Code, got.Text())
		}
	}
}
