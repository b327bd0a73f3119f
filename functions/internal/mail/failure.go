package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"patchbay/shared/tool"
)

// Codes of the failures that Fail makes; a tool's contract declares them. All but CodeOutcomeUnknown mean that nothing
// was sent.
const (
	// CodeRecipients: the server accepts none of the recipients.
	CodeRecipients = "recipients_refused"
	// CodeRefused: the server refuses the sender or the message for good.
	CodeRefused = "mail_refused"
	// CodeDeferred: the server refuses for now.
	CodeDeferred = "mail_deferred"
	// CodeUnavailable: the server was not reached, or was lost before it had the message.
	CodeUnavailable = "mail_unavailable"
	// CodeOutcomeUnknown: the message was sent whole and not confirmed.
	CodeOutcomeUnknown = "outcome_unknown"
)

// Kind says what a failure means for the message.
type Kind string

// The kinds of failures. All but Unknown mean that the message was not sent.
const (
	// Unreachable: there was no connection, or it ended before the server had the message.
	Unreachable Kind = "unreachable"
	// Deferred: the server refused for now (4xx).
	Deferred Kind = "deferred"
	// Refused: the server refused for good (5xx).
	Refused Kind = "refused"
	// Unknown: the server had the whole message, and did not say what it did with it.
	Unknown Kind = "unknown"
)

// Error is why a message was not sent, or may not have been.
type Error struct {
	Kind Kind
	// Code is the server's reply code; 0 when it did not reply.
	Code int
	// Recipients are those that were refused, when none was accepted; else nil.
	Recipients []Refusal

	step  string
	cause error
}

// Error describes the failure for logs; it may hold the server's address and its words.
func (e *Error) Error() string {
	if len(e.Recipients) > 0 {
		return "sending mail: no recipient was accepted: " + refusals(e.Recipients)
	}
	return fmt.Sprintf("sending mail: %s: %s: %v", e.step, e.Kind, e.cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// failure is the error of a step before the server had the message.
func failure(step string, cause error) *Error {
	code := replyCode(cause)
	kind := Unreachable
	switch code / 100 {
	case 4:
		kind = Deferred
	case 5:
		kind = Refused
	}
	return &Error{Kind: kind, Code: code, step: step, cause: cause}
}

// noRecipient is the error for recipients that were all refused: for now, when it may be otherwise later for one.
func noRecipient(refused []Refusal) *Error {
	e := &Error{Kind: Refused, Code: refused[0].Code, Recipients: refused}
	if i := slices.IndexFunc(refused, func(r Refusal) bool { return r.Code < 500 }); i >= 0 {
		e.Kind, e.Code = Deferred, refused[i].Code
	}
	return e
}

// broke reports whether the conversation cannot go on after an error.
func broke(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Kind == Unreachable || e.Kind == Unknown || e.Code == closing)
}

// Fail turns an *Error into the failure that a model reads, and logs it; other errors come back as they are. Neither
// the server's address nor its words are shown.
func Fail(ctx context.Context, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	tool.Log(ctx).Warn("mail not sent", "kind", string(e.Kind), "error", err.Error())
	switch {
	case len(e.Recipients) > 0:
		return tool.Fail(CodeRecipients, "The mail server accepts none of the recipients: %s. Nothing was sent. Check "+
			"the addresses with the user before calling again.", refusals(e.Recipients))
	case e.Kind == Refused:
		return tool.Fail(CodeRefused, "The mail server refuses this message for good (%d). Nothing was sent. The same "+
			"message will be refused again; whoever operates this server can find the reason in its log.", e.Code)
	case e.Kind == Deferred:
		return tool.Fail(CodeDeferred, "The mail server does not take the message now (%d). Nothing was sent; try "+
			"again in some minutes.", e.Code)
	case e.Kind == Unreachable:
		return tool.Fail(CodeUnavailable, "The mail server does not answer as it should at the moment. Nothing was "+
			"sent; try again later.")
	}
	return tool.Fail(CodeOutcomeUnknown, "The mail server had the whole message and did not confirm it, so it may be "+
		"on its way or not. Do not send it again before the user has asked a recipient whether it arrived.")
}

// refusals lists recipients with what their refusals mean.
func refusals(refused []Refusal) string {
	texts := make([]string, len(refused))
	for i, r := range refused {
		texts[i] = r.String()
	}
	return strings.Join(texts, ", ")
}

// String is the address with what the code means.
func (r Refusal) String() string {
	if r.Code < 500 {
		return fmt.Sprintf("%s (%d, refused for now)", r.Address.Spec(), r.Code)
	}
	return fmt.Sprintf("%s (%d, refused for good)", r.Address.Spec(), r.Code)
}
