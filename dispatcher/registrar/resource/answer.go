package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/cfn"
)

const (
	// maxAnswer is what CloudFormation takes of an answer, in bytes. Source: crpg-ref, "Response objects".
	maxAnswer = 4096
	// putTime bounds one attempt to deliver an answer, and putAttempts how many there are.
	putTime     = 5 * time.Second
	putAttempts = 4
	putPause    = 200 * time.Millisecond
)

// answers delivers answers. It does not use cfn.Response.Send: that one has no time-out, sends more than CloudFormation
// takes, and tells the pre-signed URL in its errors, with which anybody could answer.
type answers struct{ client *http.Client }

// newAnswers returns one that sends by transport; nil is Go's own. It follows no redirect: CloudFormation's URLs lead
// to S3 and nowhere else.
func newAnswers(transport http.RoundTripper) answers {
	return answers{client: &http.Client{
		Timeout: putTime, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send puts an answer to the URL, again when that fails: to put the same a second time changes nothing.
//
// Whoever invokes the registrar names the URL, so only HTTPS is spoken: within Lambda, plain HTTP leads to the
// runtime's own interface.
func (a answers) send(ctx context.Context, to string, response *cfn.Response) error {
	if target, err := url.Parse(to); err != nil || target.Scheme != "https" || target.Host == "" {
		return errors.New("delivering the answer: the event's ResponseURL is not one of HTTPS")
	}
	body, err := encode(response)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		failure := a.put(ctx, to, body)
		if failure == nil {
			return nil
		}
		if attempt == putAttempts {
			return fmt.Errorf("delivering the answer: %w", failure)
		}
		select {
		case <-time.After(putPause << attempt):
		case <-ctx.Done():
			return fmt.Errorf("delivering the answer: %w", errors.Join(ctx.Err(), failure))
		}
	}
}

// put sends the body without a Content-Type: the URL is signed for none.
func (a answers) put(ctx context.Context, to string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, to, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection can be used again
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

// withoutURL takes the pre-signed URL out of an error.
func withoutURL(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}

// encode makes the answer's JSON with as much of the reason as CloudFormation takes: whole lines, and how many more
// there are, which the registrar's log has.
func encode(response *cfn.Response) ([]byte, error) {
	answer := *response
	// A line end would be told as \n by the console.
	lines := strings.Split(strings.TrimSpace(answer.Reason), "\n")
	answer.Reason = strings.Join(lines, " • ")
	body, err := marshal(answer)
	if err != nil || len(body) <= maxAnswer {
		return body, err
	}
	for shown := len(lines) - 1; shown > 0; shown-- {
		answer.Reason = fmt.Sprintf("%s • and %d more, in the registrar's log", strings.Join(lines[:shown], " • "),
			len(lines)-shown)
		if len(answer.Reason) > maxAnswer {
			continue
		}
		if body, err = marshal(answer); err != nil || len(body) <= maxAnswer {
			return body, err
		}
	}
	return encodeBeginning(answer, lines)
}

// encodeBeginning makes the JSON with the beginning of the first line, which is too long by itself.
func encodeBeginning(answer cfn.Response, lines []string) ([]byte, error) {
	ending := "… (the registrar's log has all of it)"
	if len(lines) > 1 {
		ending = fmt.Sprintf("… and %d more, in the registrar's log", len(lines)-1)
	}
	for length := min(len(lines[0]), maxAnswer); length > 0; length -= 64 {
		answer.Reason = beginning(lines[0], length) + ending
		if body, err := marshal(answer); err != nil || len(body) <= maxAnswer {
			return body, err
		}
	}
	return nil, fmt.Errorf("an answer to %s does not fit into %d bytes", answer.LogicalResourceID, maxAnswer)
}

// beginning is at most length bytes of text, cut between characters.
func beginning(text string, length int) string {
	if length >= len(text) {
		return text
	}
	for length > 0 && !utf8.RuneStart(text[length]) {
		length--
	}
	return text[:length]
}

// marshal leaves <, > and & as they are: escaped they would take six bytes each.
func marshal(answer cfn.Response) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), nil
}
