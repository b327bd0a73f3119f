package tracker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// SecretName is the secret that holds the API's bearer token.
const SecretName = "tracker_api_token"

var errNoToken = errors.New("reading secret " + SecretName)

// authorize gives a request this service's own credential, whoever calls the tool. The caller's access token was issued
// for this server and not for the tracker; the tool does not even get to see it.
func (c *Client) authorize(ctx context.Context, request *http.Request) error {
	token, err := c.secrets.Get(ctx, SecretName)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoToken, err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token.Reveal()))
	return nil
}
