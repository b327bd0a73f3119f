// Command emails_send_external is a tool that sends one e-mail to people outside.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"patchbay/functions/internal/mail"
	"patchbay/shared/tool"
)

// Input is the message. IdempotencyKey is for the dispatcher, which hands it on in the call.
type Input struct {
	To             Recipients `json:"to"`
	Cc             Recipients `json:"cc,omitempty"`
	Subject        string     `json:"subject"`
	Body           string     `json:"body"`
	IdempotencyKey string     `json:"idempotencyKey,omitempty"`
}

// Recipients are addresses. As JSON they are a list, or one text for a list of one, as models often write it.
type Recipients []string

// UnmarshalJSON reads one address or a list.
func (r *Recipients) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]string)(r))
	}
	*r = Recipients{""}
	return json.Unmarshal(data, &(*r)[0])
}

// Output says what was sent and for whom.
type Output struct {
	MessageID          string    `json:"messageId"`
	AcceptedRecipients []string  `json:"acceptedRecipients"`
	RefusedRecipients  []refused `json:"refusedRecipients,omitempty"`
}

// refused is a recipient for whom the message was not taken.
type refused struct {
	Address string `json:"address"`
	Code    int    `json:"code"`
}

func main() {
	mailer, err := mail.New(mail.Options{Address: os.Getenv("SMTP_ADDR"), From: os.Getenv("MAIL_FROM")})
	if err != nil {
		tool.Stop(fmt.Errorf("SMTP_ADDR or MAIL_FROM cannot be used: %w", err))
	}
	tool.Serve(send(mailer))
}

func send(mailer *mail.Mailer) func(context.Context, Input) (Output, error) {
	return func(ctx context.Context, in Input) (Output, error) {
		to, err := parse("to", in.To)
		if err != nil {
			return Output{}, err
		}
		cc, err := parse("cc", in.Cc)
		if err != nil {
			return Output{}, err
		}
		message := mail.Message{
			ID: messageID(mailer, tool.CallFrom(ctx), in), To: to, Cc: cc, Subject: in.Subject, Body: in.Body,
		}
		delivery, err := mailer.Send(ctx, message)
		if err != nil {
			return Output{}, mail.Fail(ctx, err)
		}
		return output(message.ID, delivery), nil
	}
}

// parse reads the addresses of an argument.
func parse(argument string, texts []string) ([]mail.Address, error) {
	addresses := make([]mail.Address, len(texts))
	for i, text := range texts {
		address, err := mail.ParseAddress(text)
		if err != nil {
			return nil, tool.Fail("invalid_address", "In %s, %v. Nothing was sent.", argument, err)
		}
		addresses[i] = address
	}
	return addresses, nil
}

// messageID is the same for every execution of one logical call, so that a recipient's server can tell that it has the
// message already, should it ever be sent twice. The arguments are in it because a key that has ended may come back
// with other ones.
func messageID(mailer *mail.Mailer, call tool.Call, in Input) string {
	if call.IdempotencyKey == "" {
		return mailer.ID()
	}
	recipients := fmt.Sprintf("%q %q", in.To, in.Cc)
	return mailer.ID(call.Tool, call.Principal.Key(), call.IdempotencyKey, recipients, in.Subject, in.Body)
}

func output(id string, delivery mail.Delivery) Output {
	out := Output{MessageID: id, AcceptedRecipients: mail.Specs(delivery.Accepted)}
	for _, r := range delivery.Refused {
		out.RefusedRecipients = append(out.RefusedRecipients, refused{Address: r.Address.Spec(), Code: r.Code})
	}
	return out
}
