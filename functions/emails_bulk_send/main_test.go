package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/mail"
	"patchbay/functions/internal/mail/mailtest"
	"patchbay/scripts/smtpsink"
	"patchbay/shared/contract"
	"patchbay/shared/principal"
	"patchbay/shared/tool/tooltest"
)

const (
	wholeSegment = `{"templateId":"tmpl_newsletter_q3","segmentId":"seg_active_customers"}`
	trial        = `{"templateId":"tmpl_newsletter_q3","segmentId":"seg_trial_users"}`
	dryRun       = `{"templateId":"tmpl_newsletter_q3","segmentId":"seg_active_customers","dryRun":true}`
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, bulkSend(data{}, nil))
	file, err := os.ReadFile("tool.json")
	if err != nil {
		t.Fatal(err)
	}
	definition, problems := contract.Parse("tool.json", file)
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(permissions(), definition.Contract.Permissions); diff != "" {
		t.Errorf("permissions of tool.json (-want +got):\n%s", diff)
	}
}

func start(t *testing.T, at func(smtpsink.Step) smtpsink.Action) (*mailtest.Server, *mail.Mailer) {
	t.Helper()
	server := mailtest.Start(t, smtpsink.Options{At: at})
	return server, server.Mailer(t)
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	_, mailer := start(t, func(smtpsink.Step) smtpsink.Action {
		t.Error("a dry run spoke to the mail server")
		return smtpsink.Action{}
	})
	got := tooltest.Structured[Output](t, tooltest.Call(t, bulkSend(loadData(), mailer), dryRun))
	const subject = "What is new in the third quarter"
	const letter = "three things changed since June: - Reports open twice as fast. - Teams can share saved searches. " +
		"- The Madrid office answers the phone"
	want := Output{
		DryRun:         true,
		RecipientCount: 25,
		Warnings: []string{
			"Left out, because they unsubscribed: 2.",
			"In the segment more than once, and written to once: 1.",
			`Without a name, and so addressed as "there": 1.`,
			"Left out, because their addresses are not valid: grace.hopper(at)example.com.",
		},
		Preview: &Preview{
			SampleMessages: []Sample{
				{"Ada Lovelace <ada.lovelace@example.com>", subject, "Hello Ada Lovelace, " + letter + " …"},
				{"Bela Novak <bela.novak@example.com>", subject, "Hello Bela Novak, " + letter + " until …"},
				{"Chiara Rossi <chiara.rossi@example.com>", subject, "Hello Chiara Rossi, " + letter + " …"},
			},
			MissingPermissions: []string{"emails:bulk"},
			ExpectedSideEffects: []string{
				`Sends 25 e-mails from Support <support@example.com> with the subject "What is new in the third quarter", ` +
					`one to each recipient; they cannot be taken back.`,
				"Another real call, after another dry run and confirmation, sends all of them again.",
			},
			EstimatedDurationMs: 1200,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
}

func TestDryRunOfACallerWithThePermission(t *testing.T) {
	t.Parallel()
	_, mailer := start(t, nil)
	caller := tooltest.Options{Principal: principal.Principal{Subject: "u1", Scopes: []string{"emails:bulk"}}}
	result := tooltest.Call(t, bulkSend(loadData(), mailer), dryRun, caller)
	if !strings.Contains(string(result.StructuredContent), `"missingPermissions":[]`) {
		t.Errorf("preview %s, want no missing permission", result.StructuredContent)
	}
}

func TestDryRunOfASegmentWithNobodyLeft(t *testing.T) {
	t.Parallel()
	server, mailer := start(t, nil)
	handler := bulkSend(loadData(), mailer)
	got := tooltest.Structured[Output](t, tooltest.Call(t, handler,
		`{"templateId":"tmpl_maintenance","segmentId":"seg_former_customers","dryRun":true}`))
	if got.RecipientCount != 0 || len(got.SampleMessages) != 0 || len(got.ExpectedSideEffects) != 0 ||
		!slices.Contains(got.Warnings, "Nobody is left to send to; a real call will be refused.") {
		t.Errorf("preview %+v", got)
	}
	failed := tooltest.Call(t, handler, `{"templateId":"tmpl_maintenance","segmentId":"seg_former_customers"}`)
	if failed.Code != "no_recipients" || len(server.Kept()) != 0 {
		t.Errorf("code %q, text %q", failed.Code, failed.Text())
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	server, mailer := start(t, nil)
	result := tooltest.Call(t, bulkSend(loadData(), mailer), wholeSegment, tooltest.Options{Progress: true})
	got := tooltest.Structured[Output](t, result)
	if got.DryRun || got.RecipientCount != 25 || got.Preview != nil || len(got.Warnings) != 4 {
		t.Errorf("output %+v", got)
	}
	if diff := cmp.Diff(&Tally{Sent: 25}, got.Tally); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
	seen := map[string]bool{}
	for _, kept := range server.Kept() {
		if len(kept.To) != 1 || seen[kept.To[0]] || kept.Subject != "What is new in the third quarter" {
			t.Errorf("message %+v", kept)
		}
		seen[kept.To[0]] = true
	}
	if len(seen) != 25 || seen["emeka.obi@example.com"] || !seen["zoe.celik@example.com"] {
		t.Errorf("%d got it: %v", len(seen), seen)
	}
	if got := server.Kept()[24]; got.To[0] != "office@example.org" || !strings.HasPrefix(got.Text, "Hello there,\n") {
		t.Errorf("last message %+v", got)
	}
	last := result.Progress[len(result.Progress)-1]
	if last.Progress != 25 || last.Total != 25 || last.Message != "25 of 25 e-mails are sent" {
		t.Errorf("last progress %+v", last)
	}
}

// nth makes a server act at a stage the nth time that it comes there, counted from 1, over all conversations; from says
// that it goes on so.
func nth(stage smtpsink.Stage, n int64, from bool, action smtpsink.Action) func(smtpsink.Step) smtpsink.Action {
	var times atomic.Int64
	return func(step smtpsink.Step) smtpsink.Action {
		if step.Stage != stage {
			return smtpsink.Action{}
		}
		if at := times.Add(1); at == n || from && at > n {
			return action
		}
		return smtpsink.Action{}
	}
}

func TestPartialFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at   func(smtpsink.Step) smtpsink.Action
		want Tally
		kept int
		part string
	}{
		"one recipient refused": {
			mailtest.At(smtpsink.Recipient, "jun.tanaka@example.net", mailtest.Refuse(550)),
			Tally{Sent: 4, Refused: 1}, 4, "refused them for good: 1.",
		},
		"one recipient deferred": {
			mailtest.At(smtpsink.Recipient, "vera.costa@example.net", mailtest.Refuse(451)),
			Tally{Sent: 4, Deferred: 1}, 4, "did not take their messages now",
		},
		"lost with a message, once": {
			nth(smtpsink.Content, 3, false, mailtest.Drop()), Tally{Sent: 4, Unconfirmed: 1}, 4, "May have got",
		},
		"lost before DATA, once": {nth(smtpsink.Data, 3, false, mailtest.Drop()), Tally{Sent: 5}, 5, ""},
		"lost for good": {
			nth(smtpsink.Data, 3, true, mailtest.Drop()), Tally{Sent: 2, NotAttempted: 3}, 2, "too slow: 3.",
		},
		"an answer lost": {
			nth(smtpsink.Kept, 2, false, mailtest.Drop()), Tally{Sent: 4, Unconfirmed: 1}, 5, "once more",
		},
		"deferring from the second": {
			nth(smtpsink.Ended, 2, true, mailtest.Refuse(451)), Tally{Sent: 1, Deferred: 3, NotAttempted: 1}, 1, "",
		},
		"closing after the second": {
			nth(smtpsink.Sender, 3, false, mailtest.Refuse(421)), Tally{Sent: 4, Deferred: 1}, 4, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, mailer := start(t, test.at)
			got := tooltest.Structured[Output](t, tooltest.Call(t, bulkSend(loadData(), mailer), trial))
			if diff := cmp.Diff(&test.want, got.Tally); diff != "" {
				t.Errorf("tally (-want +got):\n%s", diff)
			}
			if kept := len(server.Kept()); kept != test.kept {
				t.Errorf("%d messages were kept, want %d", kept, test.kept)
			}
			if !strings.Contains(strings.Join(got.Warnings, "\n"), test.part) {
				t.Errorf("warnings %q, want one with %q", got.Warnings, test.part)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	drop := mailtest.Drop()
	for name, test := range map[string]struct {
		stage      smtpsink.Stage
		action     smtpsink.Action
		code, part string
		kept       int
	}{
		"no server":       {smtpsink.Connected, drop, "mail_unavailable", "Nothing was sent", 0},
		"busy":            {smtpsink.Connected, mailtest.Refuse(421), "mail_deferred", "Nothing was sent", 0},
		"sender refused":  {smtpsink.Sender, mailtest.Refuse(550), "mail_refused", "Nothing was sent", 0},
		"nobody accepted": {smtpsink.Recipient, mailtest.Refuse(550), "recipients_refused", "refused 5 for good", 0},
		"none confirmed":  {smtpsink.Kept, drop, "outcome_unknown", "had 3 of 5 messages", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, mailer := start(t, mailtest.At(test.stage, "", test.action))
			got := tooltest.Call(t, bulkSend(loadData(), mailer), trial)
			if got.Code != test.code || !strings.Contains(got.Text(), test.part) || strings.Contains(got.Text(), "SERVER") {
				t.Errorf("code %q, text %q; want %s with %q", got.Code, got.Text(), test.code, test.part)
			}
			if kept := len(server.Kept()); kept != test.kept {
				t.Errorf("%d messages were kept, want %d", kept, test.kept)
			}
		})
	}
}

func TestTimeRunsOut(t *testing.T) {
	t.Parallel()
	server, mailer := start(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 1300*time.Millisecond) // too little to begin a message
	defer cancel()
	plan, err := loadData().plan("tmpl_newsletter_q3", "seg_trial_users")
	if err != nil {
		t.Fatal(err)
	}
	d := &delivery{mailer: mailer, plan: plan}
	d.run(ctx)
	if diff := cmp.Diff(Tally{NotAttempted: 5}, d.tally); diff != "" || len(server.Kept()) != 0 {
		t.Errorf("tally (-want +got):\n%s\nkept %d", diff, len(server.Kept()))
	}
}

func TestMessageIDsFollowFromTheKey(t *testing.T) {
	t.Parallel()
	server, mailer := start(t, nil)
	for _, key := range []string{"k1", "k1", "k2", "", ""} {
		tooltest.Call(t, bulkSend(loadData(), mailer), trial, tooltest.Options{IdempotencyKey: key})
	}
	ids := map[string]int{}
	for _, kept := range server.Kept() {
		ids[kept.MessageID]++
	}
	if len(server.Kept()) != 25 || len(ids) != 20 {
		t.Errorf("%d messages have %d ids, want 25 with 20", len(server.Kept()), len(ids))
	}
}

func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	_, mailer := start(t, nil)
	for _, dryRun := range []bool{true, false} {
		got := tooltest.Call(t, bulkSend(loadData(), mailer), Input{"tmpl_newsletter", "seg_trial_users", dryRun})
		if got.Code != "unknown_template" || !strings.Contains(got.Text(), ": tmpl_maintenance, tmpl_newsletter_q3.") {
			t.Errorf("code %q, text %q", got.Code, got.Text())
		}
		got = tooltest.Call(t, bulkSend(loadData(), mailer), Input{"tmpl_newsletter_q3", "everybody", dryRun})
		if got.Code != "unknown_segment" || !strings.Contains(got.Text(), "seg_active_customers, seg_former_customers, ") {
			t.Errorf("code %q, text %q", got.Code, got.Text())
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	_, mailer := start(t, nil)
	for want, arguments := range map[string]string{
		"templateId": `{"segmentId":"seg_trial_users"}`,
		"segmentId":  `{"templateId":"tmpl_newsletter_q3"}`,
		"dryRun":     `{"templateId":"tmpl_newsletter_q3","segmentId":"seg_trial_users","dryRun":"no"}`,
		"dry_run":    `{"templateId":"tmpl_newsletter_q3","segmentId":"seg_trial_users","dry_run":true}`,
	} {
		got := tooltest.Call(t, bulkSend(loadData(), mailer), arguments)
		if !got.Refused || !strings.Contains(got.Text(), want) {
			t.Errorf("%s: refused %v, text %q; want one with %q", arguments, got.Refused, got.Text(), want)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n\n b ":                               "a b",
		strings.Repeat("ü", 160):                 strings.Repeat("ü", 160),
		strings.Repeat("ü", 161):                 strings.Repeat("ü", 160) + " …",
		strings.Repeat("üü ", 53) + "third word": strings.TrimSpace(strings.Repeat("üü ", 53)) + " …",
	} {
		if got := shorten(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestData(t *testing.T) {
	t.Parallel()
	d := loadData()
	for id, template := range d.templates {
		rest := strings.ReplaceAll(template.Text+template.Subject, "{{name}}", "")
		if !strings.HasPrefix(id, "tmpl_") || template.Subject == "" || strings.ContainsAny(rest, "{}") {
			t.Errorf("template %+v", template)
		}
	}
	for id, members := range d.segments {
		if !strings.HasPrefix(id, "seg_") || len(members) == 0 {
			t.Errorf("segment %s has %d members", id, len(members))
		}
		for _, m := range members {
			if !strings.Contains(m.email, "example.") {
				t.Errorf("%s may belong to somebody", m.email)
			}
		}
	}
}

func BenchmarkPreview(b *testing.B) {
	members := make([]member, 10_000)
	for i := range members {
		members[i] = member{email: fmt.Sprintf("m%d@example.com", i), name: "Member", subscribed: true}
	}
	d := data{
		templates: map[string]template{"t": {ID: "t", Subject: "s", Text: "Hello {{name}}"}},
		segments:  map[string][]member{"s": members},
	}
	from, err := mail.ParseAddress(mailtest.From)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		plan, err := d.plan("t", "s")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(plan.preview(from, principal.Principal{})); err != nil {
			b.Fatal(err)
		}
	}
}
