package clients

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// goAuthorization is the SDK's own OAuth handler. End closes what it listens on.
func goAuthorization(signIn SignIn) (handler auth.OAuthHandler, end func(), err error) {
	if signIn.ClientID != "" {
		handler, err := goMachine(signIn)
		return handler, func() {}, err
	}
	back, err := listenForCallback(signIn.CallbackPort)
	if err != nil {
		return nil, nil, err
	}
	handler, err = auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:              "patchbay-tests",
				RedirectURIs:            []string{back.URL},
				GrantTypes:              []string{"authorization_code", "refresh_token"},
				ResponseTypes:           []string{"code"},
				TokenEndpointAuthMethod: "none",
			},
		},
		RequestRefreshToken: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			response, err := back.visit(ctx, signIn.Visit, args.URL)
			if err != nil {
				return nil, err
			}
			if reason := response.Get("error"); reason != "" {
				return nil, fmt.Errorf("the authorization server says %s: %s", reason, response.Get("error_description"))
			}
			return &auth.AuthorizationResult{
				Code: response.Get("code"), State: response.Get("state"), Iss: response.Get("iss"),
			}, nil
		},
	})
	if err != nil {
		back.close()
		return nil, nil, fmt.Errorf("making the Go client's OAuth handler: %w", err)
	}
	return handler, back.close, nil
}

func goMachine(signIn SignIn) (auth.OAuthHandler, error) {
	handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{
			ClientID:         signIn.ClientID,
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: signIn.ClientSecret},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the Go client's OAuth handler: %w", err)
	}
	return handler, nil
}
