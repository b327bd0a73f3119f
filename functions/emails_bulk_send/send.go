package main

import (
	"context"
	"errors"
	"fmt"

	"patchbay/functions/internal/mail"
	"patchbay/shared/tool"
)

// maxTrouble is after how many failures in a row, that are not about one recipient, the rest is not tried.
const maxTrouble = 3

// Tally says what became of the recipients of a real call; it adds up to their number.
type Tally struct {
	// Sent: the mail server took the message.
	Sent int `json:"sentCount"`
	// Refused and Deferred: it did not, for good or for now.
	Refused  int `json:"refusedCount"`
	Deferred int `json:"deferredCount"`
	// Unconfirmed: it had the message and did not say what it did with it.
	Unconfirmed int `json:"unconfirmedCount"`
	// NotAttempted: nothing was sent, since the mail server was lost before or the time had run out.
	NotAttempted int `json:"notAttemptedCount"`
}

// delivery is one real call in progress.
type delivery struct {
	mailer  *mail.Mailer
	call    tool.Call
	plan    plan
	session *mail.Session
	tally   Tally
	last    error // the last failure
	trouble int   // failures in a row that are not about one recipient
}

// run sends the letters one after another, and reports its progress.
func (d *delivery) run(ctx context.Context) {
	defer d.close()
	total := len(d.plan.letters)
	for i, letter := range d.plan.letters {
		err := d.send(ctx, letter)
		if d.count(err); d.trouble >= maxTrouble || isUnreachable(err) {
			d.tally.NotAttempted += total - i - 1
			return
		}
		tool.Progress(ctx, float64(i+1), float64(total), fmt.Sprintf("%d of %d e-mails are sent", d.tally.Sent, total))
	}
}

// send sends one letter. A server that was lost before it had the letter is sent it once more: nothing is sent twice by
// that.
func (d *delivery) send(ctx context.Context, l letter) error {
	message := mail.Message{
		ID: d.messageID(l), To: []mail.Address{l.to}, Subject: d.plan.template.Subject, Body: l.text,
	}
	err := d.sendOnce(ctx, message)
	if isUnreachable(err) {
		err = d.sendOnce(ctx, message)
	}
	if err != nil {
		tool.Log(ctx).Warn("mail not sent", "error", err.Error())
	}
	return err
}

func (d *delivery) sendOnce(ctx context.Context, message mail.Message) error {
	if d.session != nil && d.session.Broken() {
		d.close()
	}
	if d.session == nil {
		session, err := d.mailer.Open(ctx)
		if err != nil {
			return err
		}
		d.session = session
	}
	_, err := d.session.Send(ctx, message)
	return err
}

func (d *delivery) close() {
	if d.session != nil {
		d.session.Close()
		d.session = nil
	}
}

// messageID is the same for every execution of one logical call, so that a recipient's server can tell that it has the
// message already, should it ever be sent twice.
func (d *delivery) messageID(l letter) string {
	if d.call.IdempotencyKey == "" {
		return d.mailer.ID()
	}
	call := d.call
	return d.mailer.ID(call.Tool, call.Principal.Key(), call.IdempotencyKey, d.plan.template.ID, l.to.Spec(), l.text)
}

// count adds what became of one letter.
func (d *delivery) count(err error) {
	if err == nil {
		d.tally.Sent++
		d.trouble = 0
		return
	}
	d.last = err
	d.trouble++
	if isAboutRecipient(err) {
		d.trouble = 0
	}
	failed, ok := errors.AsType[*mail.Error](err)
	switch {
	case ok && failed.Kind == mail.Refused:
		d.tally.Refused++
	case ok && failed.Kind == mail.Deferred:
		d.tally.Deferred++
	case ok && failed.Kind == mail.Unknown:
		d.tally.Unconfirmed++
	default:
		d.tally.NotAttempted++
	}
}

func isAboutRecipient(err error) bool {
	failed, ok := errors.AsType[*mail.Error](err)
	return ok && len(failed.Recipients) > 0
}

func isUnreachable(err error) bool {
	failed, ok := errors.AsType[*mail.Error](err)
	return ok && failed.Kind == mail.Unreachable
}

// failure is the failure of a call by which nobody got anything for sure; nil when somebody did.
func (d *delivery) failure(ctx context.Context) error {
	total := len(d.plan.letters)
	switch {
	case d.tally.Sent > 0:
		return nil
	case d.tally.Unconfirmed > 0:
		return tool.Fail(mail.CodeOutcomeUnknown, "The mail server had %d of %d messages and confirmed none, so they "+
			"may be on their way or not; the others were not sent. Do not call again before the user has asked a recipient.",
			d.tally.Unconfirmed, total)
	case isAboutRecipient(d.last):
		return tool.Fail(mail.CodeRecipients, "The mail server accepts none of the %d recipients: it refused %d for "+
			"good and %d for now; the others were not tried. Nothing was sent.", total, d.tally.Refused, d.tally.Deferred)
	}
	return mail.Fail(ctx, d.last)
}

// warnings say what the tally means.
func (t Tally) warnings() []string {
	var warnings []string
	for _, w := range []struct {
		count  int
		format string
	}{
		{t.Refused, "Got nothing, because the mail server refused them for good: %d."},
		{t.Deferred, "Got nothing, because the mail server did not take their messages now: %d."},
		{t.Unconfirmed, "May have got the message or not, because the mail server did not confirm it: %d."},
		{t.NotAttempted, "Got nothing, because the mail server was lost, refused too often or was too slow: %d."},
	} {
		if w.count > 0 {
			warnings = append(warnings, fmt.Sprintf(w.format, w.count))
		}
	}
	if len(warnings) > 0 {
		warnings = append(warnings, "Calling again sends the message to everybody once more, to those who have it too.")
	}
	return warnings
}
