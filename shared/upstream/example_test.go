package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"patchbay/shared/secret"
	"patchbay/shared/tool"
	"patchbay/shared/upstream"
)

type question struct {
	Order string `json:"order"`
}

type order struct {
	State string `json:"state"`
}

// The main of a tool that reads orders from an API which wants OAuth tokens.
func Example() {
	secrets, err := secret.Open(os.Getenv)
	if err != nil {
		tool.Stop(err)
	}
	api := os.Getenv("ORDERS_API_URL")
	client, err := upstream.New(upstream.Config{
		API: api, TokenURL: os.Getenv("ORDERS_TOKEN_URL"), ClientID: os.Getenv("ORDERS_CLIENT_ID"),
		Secrets: secrets, SecretName: "orders_client_secret", Scopes: []string{"orders:read"},
	})
	if err != nil {
		tool.Stop(err)
	}
	tool.Serve(func(ctx context.Context, in question) (order, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/orders/"+url.PathEscape(in.Order), nil)
		if err != nil {
			return order{}, fmt.Errorf("asking for an order: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return order{}, fmt.Errorf("asking for an order: %w", err)
		}
		defer response.Body.Close()
		var found order
		switch response.StatusCode {
		case http.StatusOK:
			err = json.NewDecoder(response.Body).Decode(&found)
		case http.StatusNotFound:
			err = tool.Fail("unknown_order", "There is no order %q.", in.Order)
		default:
			err = fmt.Errorf("asking for an order: %s", response.Status)
		}
		return found, err
	})
}
