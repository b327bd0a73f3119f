package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"patchbay/shared/tool"
)

const (
	// maxAnswer is how many bytes of an answer are read: a page of a hundred issues with long descriptions fits.
	maxAnswer = 4 << 20
	// reserve is the time that a call keeps for answering its own caller.
	reserve = 500 * time.Millisecond
	// minWrite is the time without which a change is not begun, since nobody would wait for its confirmation.
	minWrite = time.Second
)

// These answers mean something else for every question, so the methods of Client make the failures of them.
var (
	errNotFound       = errors.New("the tracker does not have it")
	errConflict       = errors.New("the tracker's data changed meanwhile")
	errOutcomeUnknown = errors.New("the tracker did not confirm the change")
)

// answer is what came back for one request.
type answer struct {
	status     int
	retryAfter time.Duration // negative when the API did not say
	body       []byte
}

// get reads one thing into a pointer. Reading twice does no harm, so a request that the API turned away for a short
// time is sent once more.
func (c *Client) get(ctx context.Context, path []string, query url.Values, into any) error {
	got, err := c.exchange(ctx, http.MethodGet, path, query, nil)
	if err == nil && c.waitForRetry(ctx, got) {
		got, err = c.exchange(ctx, http.MethodGet, path, query, nil)
	}
	if err != nil {
		return unreached(err)
	}
	if err := refusal(got); err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return malformed(ctx, path, err)
	}
	return nil
}

// post changes something. It is never sent twice: when no clear answer came, the change may have been made, and the
// error is errOutcomeUnknown.
func (c *Client) post(ctx context.Context, path []string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding the request to %v: %w", path, err)
	}
	if c.budget(ctx) < min(minWrite, c.timeout) {
		return tool.Fail(CodeUnavailable, "The tracker was too slow to make the change in time. Nothing was changed; "+
			"try again later.")
	}
	got, err := c.exchange(ctx, http.MethodPost, path, nil, encoded)
	switch {
	case neverSent(err):
		return unreached(err)
	case err != nil || got.status >= 500:
		return errOutcomeUnknown
	}
	if err := refusal(got); err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		tool.Log(ctx).Warn("tracker answer not understood", "path", path, "error", err.Error())
		return errOutcomeUnknown
	}
	return nil
}

// exchange sends one request and reads the answer whole. Errors are logged here, since they may hold the API's address.
func (c *Client) exchange(ctx context.Context, method string, path []string, query url.Values, body []byte,
) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.budget(ctx))
	defer cancel()
	got, err := c.roundTrip(ctx, method, path, query, body)
	switch {
	case err != nil:
		tool.Log(ctx).Warn("tracker request failed", "method", method, "path", path, "error", err.Error())
	case got.status >= 300:
		tool.Log(ctx).Warn("tracker request refused", "method", method, "path", path, "status", got.status)
	}
	return got, err
}

func (c *Client) roundTrip(ctx context.Context, method string, path []string, query url.Values, body []byte,
) (answer, error) {
	request, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return answer{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	if len(read) > maxAnswer {
		return answer{}, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	after := retryAfter(response.Header.Get("Retry-After"), time.Now())
	return answer{status: response.StatusCode, retryAfter: after, body: read}, nil
}

func (c *Client) request(ctx context.Context, method string, path []string, query url.Values, body []byte,
) (*http.Request, error) {
	at := c.base.JoinPath(path...)
	at.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := c.authorize(ctx, request); err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// budget is how long one request may take now.
func (c *Client) budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return c.timeout
	}
	return min(c.timeout, time.Until(deadline)-reserve)
}

// waitForRetry waits as long as a busy API asks for and reports true, or reports false at once when the answer is not
// that of a busy API or when the call does not have the time.
func (c *Client) waitForRetry(ctx context.Context, got answer) bool {
	busy := got.status == http.StatusTooManyRequests || got.status == http.StatusServiceUnavailable
	if !busy || got.retryAfter < 0 || got.retryAfter >= c.budget(ctx) {
		return false
	}
	select {
	case <-time.After(got.retryAfter):
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3); -1 when it is neither.
func retryAfter(header string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(header, 10, 16); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, at.Sub(now)), most)
	}
	return -1
}

// neverSent reports whether the request cannot have reached the API.
func neverSent(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, errNoToken) || ok && network.Op == "dial"
}
