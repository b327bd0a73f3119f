package operate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// Act is what an operator does, in the words of the audit log.
type Act struct {
	// Lever is the command, as in "tool disable".
	Lever string
	// On is what it is done to: a tool, a source, a record, a request.
	On string
	// Details are further facts, never a secret, an argument or a result of a call.
	Details map[string]string
}

// The outcomes of an act.
const (
	outcomeAttempt = "attempt"
	outcomeDone    = "done"
	outcomeFailed  = "failed"
)

// record is an act's record, before it or after it.
type record struct {
	Time    time.Time         `json:"time"`
	ID      string            `json:"id"`
	Who     string            `json:"who"`
	Target  string            `json:"target"`
	Lever   string            `json:"lever"`
	On      string            `json:"on,omitempty"`
	Details map[string]string `json:"details,omitempty"`
	Outcome string            `json:"outcome"`
	Error   string            `json:"error,omitempty"`
}

// auditor writes records; one that is written is kept.
type auditor interface {
	// operator is who acts.
	operator() string
	write(ctx context.Context, r record) error
}

// auditError is why an audit record could not be written.
type auditError struct{ err error }

func (e *auditError) Error() string { return "writing the audit record: " + e.err.Error() }

func (e *auditError) Unwrap() error { return e.err }

// outcomeWait bounds the writing of the record after an act, which is written though the operator interrupts it.
const outcomeWait = 10 * time.Second

// Do writes that the act is attempted, does it, and writes what came of it. Nothing is done when the first record
// cannot be written. do may add details of what it did to the act.
func (t *Target) Do(ctx context.Context, act Act, do func(*Act) error) error {
	id := rand.Text()
	if err := t.auditor.write(ctx, t.record(id, act, outcomeAttempt)); err != nil {
		return fmt.Errorf("nothing was done: %w", t.explain(&auditError{err}))
	}
	failure := t.explain(do(&act))
	after := t.record(id, act, outcomeDone)
	if failure != nil {
		after.Outcome, after.Error = outcomeFailed, failure.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeWait)
	defer cancel()
	if err := t.auditor.write(ctx, after); err != nil {
		return errors.Join(failure, fmt.Errorf("what came of %s was not recorded: %w", act.Lever, &auditError{err}))
	}
	return failure
}

func (t *Target) record(id string, act Act, outcome string) record {
	return record{
		Time: t.now().UTC(), ID: id, Who: t.auditor.operator(), Target: t.Name,
		Lever: act.Lever, On: act.On, Details: act.Details, Outcome: outcome,
	}
}

// fileAuditor appends to a file.
type fileAuditor struct{ file, who string }

func (a *fileAuditor) operator() string { return a.who }

func (a *fileAuditor) write(_ context.Context, r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	file, err := os.OpenFile(a.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// cloudWatchAuditor writes to a log group, each act into a stream of its own, so that no two operators meet.
type cloudWatchAuditor struct {
	client     *cloudwatchlogs.Client
	group, who string
	// stream is the act's; empty before its first record.
	stream string
}

func (a *cloudWatchAuditor) operator() string { return a.who }

func (a *cloudWatchAuditor) write(ctx context.Context, r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	if err := a.open(ctx, r); err != nil {
		return err
	}
	out, err := a.client.PutLogEvents(ctx, &cloudwatchlogs.PutLogEventsInput{
		LogGroupName: aws.String(a.group), LogStreamName: aws.String(a.stream),
		LogEvents: []types.InputLogEvent{{
			Message: aws.String(string(line)), Timestamp: aws.Int64(r.Time.UnixMilli()),
		}},
	})
	if err != nil {
		return err
	}
	if refused := out.RejectedLogEventsInfo; refused != nil {
		return fmt.Errorf("CloudWatch Logs refused it for its time, %s: is the clock right?", r.Time.Format(time.RFC3339))
	}
	return nil
}

// open makes the act's stream, named so that streams sort by time.
func (a *cloudWatchAuditor) open(ctx context.Context, r record) error {
	stream := r.Time.Format("2006/01/02/15-04-05-") + r.ID
	if a.stream != "" {
		return nil
	}
	_, err := a.client.CreateLogStream(ctx, &cloudwatchlogs.CreateLogStreamInput{
		LogGroupName: aws.String(a.group), LogStreamName: aws.String(stream),
	})
	var exists *types.ResourceAlreadyExistsException // made by an attempt whose answer was lost
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	a.stream = stream
	return nil
}
