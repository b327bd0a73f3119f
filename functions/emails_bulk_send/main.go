// Command emails_bulk_send is a tool that sends a template to everybody in a segment, and says before whom that is.
package main

import (
	"context"
	"fmt"
	"os"

	"patchbay/functions/internal/mail"
	"patchbay/shared/tool"
)

// Input is what to send to whom.
type Input struct {
	TemplateID string `json:"templateId"`
	SegmentID  string `json:"segmentId"`
	DryRun     bool   `json:"dryRun"`
}

// Output is a preview of a dry run, or the tally of a real call.
type Output struct {
	DryRun         bool     `json:"dryRun"`
	RecipientCount int      `json:"recipientCount"`
	Warnings       []string `json:"warnings"`
	*Preview
	*Tally
}

func main() {
	mailer, err := mail.New(mail.Options{Address: os.Getenv("SMTP_ADDR"), From: os.Getenv("MAIL_FROM")})
	if err != nil {
		tool.Stop(fmt.Errorf("SMTP_ADDR or MAIL_FROM cannot be used: %w", err))
	}
	tool.Serve(bulkSend(loadData(), mailer))
}

// bulkSend makes the handler of its data and its mailer.
func bulkSend(d data, mailer *mail.Mailer) func(context.Context, Input) (Output, error) {
	return func(ctx context.Context, in Input) (Output, error) {
		plan, err := d.plan(in.TemplateID, in.SegmentID)
		if err != nil {
			return Output{}, err
		}
		out := Output{RecipientCount: len(plan.letters), Warnings: plan.warnings}
		call := tool.CallFrom(ctx)
		if call.DryRun || in.DryRun {
			out.DryRun, out.Preview = true, plan.preview(mailer.From(), call.Principal)
			return out, nil
		}
		if len(plan.letters) == 0 {
			return Output{}, tool.Fail("no_recipients", "Nobody in %s can get the message. Nothing was sent; a dry "+
				"run says why.", in.SegmentID)
		}
		delivery := &delivery{mailer: mailer, call: call, plan: plan}
		delivery.run(ctx)
		if err := delivery.failure(ctx); err != nil {
			return Output{}, err
		}
		out.Tally, out.Warnings = &delivery.tally, append(out.Warnings, delivery.tally.warnings()...)
		return out, nil
	}
}
