package localauth

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/localauth/signin"
	"patchbay/shared/authorization"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	server := shared(t, "")
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		metadata := get(t, server.Issuer+path)
		want := map[string]any{
			"issuer": server.Issuer, "code_challenge_methods_supported": []any{"S256"},
			"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": true,
			"registration_endpoint": server.Issuer + "/register", "token_endpoint": server.TokenEndpoint(),
			"grant_types_supported": []any{"authorization_code", "refresh_token", "client_credentials"},
		}
		for name, value := range want {
			if diff := cmp.Diff(value, metadata[name]); diff != "" {
				t.Errorf("%s, %s: (-want +got)\n%s", path, name, diff)
			}
		}
	}
}

// A person gets what a person may have: the rest is left out, shown on the page, and missing from the answer's scope.
func TestSignIn(t *testing.T) {
	t.Parallel()
	server := shared(t, "")
	for _, test := range []struct{ user, asked, got, refused string }{
		{"ada", "contacts:read emails:bulk", "contacts:read emails:bulk", ""},
		{"bob", "contacts:read emails:bulk", "contacts:read", "emails:bulk"},
		{"bob", "emails:bulk", "", "emails:bulk"},
		{"ada", "contacts:read unheard:of", "contacts:read", "unheard:of"},
		{"ada", "", "", ""},
	} {
		c := newClient(t, server)
		var pages []string
		c.browser.Page = func(_, text string) { pages = append(pages, text) }
		tokens := c.signIn(test.user, url.Values{"scope": {test.asked}})
		header, claims := c.verified(tokens)
		if header["typ"] != "at+jwt" || header["alg"] != "RS256" {
			t.Errorf("header %v", header)
		}
		want := map[string]any{
			"iss": server.Issuer, "aud": resource, "sub": test.user, "client_id": c.id, "acr": ClassPassword,
			"iat": claims["iat"], "jti": claims["jti"], "exp": claims["iat"].(float64) + defaultSeconds,
			"auth_time": claims["auth_time"],
		}
		if test.got != "" {
			want["scope"] = test.got
		}
		if diff := cmp.Diff(want, claims); diff != "" {
			t.Errorf("%s asks for %q: (-want +got)\n%s", test.user, test.asked, diff)
		}
		if claims["auth_time"].(float64) > claims["iat"].(float64) || tokens["scope"] != test.got {
			t.Errorf("%s asks for %q: %v, %v", test.user, test.asked, claims, tokens["scope"])
		}
		if len(pages) != 2 || !strings.Contains(pages[0], "a test , which answers at 127.0.0.1:49152 , asks for") ||
			strings.Contains(pages[1], "would not get it: "+test.refused) != (test.refused != "") {
			t.Errorf("pages %q", pages)
		}
	}
}

func TestAnswersOfAnAuthorizationRequest(t *testing.T) {
	t.Parallel()
	server := shared(t, "")
	for name, test := range map[string]struct {
		change  url.Values
		browser signin.Options
		want    url.Values // beside iss and state
	}{
		"without PKCE": {
			url.Values{"code_challenge": nil, "code_challenge_method": nil}, signin.Options{},
			url.Values{"error": {"invalid_request"}},
		},
		"PKCE plain": {
			url.Values{"code_challenge_method": {"plain"}}, signin.Options{}, url.Values{"error": {"invalid_request"}},
		},
		"another resource": {
			url.Values{"resource": {"https://elsewhere.example/mcp"}}, signin.Options{}, url.Values{"error": {"invalid_target"}},
		},
		"the resource with a slash": {
			url.Values{"resource": {resource + "/"}}, signin.Options{}, url.Values{"error": {"invalid_target"}},
		},
		"refused": {nil, signin.Options{Deny: true}, url.Values{"error": {"access_denied"}}},
		"nobody signed in and no question wanted": {
			url.Values{"prompt": {"none"}}, signin.Options{}, url.Values{"error": {"login_required"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, server)
			c.browser = test.browser
			got := c.answer("ada", test.change)
			got.Del("error_description")
			test.want.Set("iss", server.Issuer) // RFC 9207
			test.want.Set("state", "a state")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	t.Run("a code", func(t *testing.T) {
		t.Parallel()
		got := newClient(t, server).answer("ada", nil)
		if got.Get("code") == "" || got.Get("iss") != server.Issuer || got.Get("state") != "a state" {
			t.Errorf("answer %v", got)
		}
	})
}

func TestNothingIsSentToARedirectURIThatIsNotRegistered(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	c.redirect = "http://127.0.0.1:49152/elsewhere"
	_, err := signin.Follow(t.Context(), c.ask(nil), c.user("ada"), signin.Options{})
	if !errors.Is(err, signin.ErrStuck) || !strings.Contains(err.Error(), "redirect_uri") {
		t.Errorf("error %v", err)
	}
}

// A client id that is a URL is one whose document the server fetches, with what it may say of the client.
func TestAClientWhoseMetadataDocumentIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	c.id = "https://127.0.0.1:1/client.json"
	_, err := signin.Follow(t.Context(), c.ask(nil), c.user("ada"), signin.Options{})
	if !errors.Is(err, signin.ErrStuck) || !strings.Contains(err.Error(), "client_id metadata document fetch failed") {
		t.Errorf("error %v", err)
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	for _, user := range []signin.User{{Name: "ada", Password: "guessed"}, {Name: "eve", Password: ""}} {
		if _, err := signin.Follow(t.Context(), c.ask(nil), user, signin.Options{}); !errors.Is(err, signin.ErrRefused) {
			t.Errorf("%s: error %v", user.Name, err)
		}
	}
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	for uri, want := range map[string]int{
		"http://localhost:3000/callback":          http.StatusCreated,
		"http://[::1]/callback":                   http.StatusCreated,
		"https://claude.ai/api/mcp/auth_callback": http.StatusCreated,
		"http://elsewhere.example/callback":       http.StatusBadRequest,
		"http://localhost.elsewhere.example/":     http.StatusBadRequest,
		"javascript:alert(1)":                     http.StatusBadRequest,
		"app://callback":                          http.StatusBadRequest,
	} {
		status, answer := c.register(map[string]any{
			"redirect_uris": []string{uri}, "token_endpoint_auth_method": "none", "scope": "contacts:read",
		})
		if status != want || (status == http.StatusBadRequest) != (answer["error"] == "invalid_redirect_uri") {
			t.Errorf("%s: %d %v, want %d", uri, status, answer, want)
		}
		// Of what it may ask for later a registration says nothing.
		if answer["scope"] != nil || answer["registration_access_token"] != nil {
			t.Errorf("%s: %v", uri, answer)
		}
	}
}

// Nobody gets a token without a person by registering: a password would guard nothing.
func TestNobodyRegistersAMachine(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	status, answer := c.register(map[string]any{
		"grant_types": []string{"client_credentials"}, "response_types": []string{}, "redirect_uris": []string{},
	})
	if status != http.StatusBadRequest || answer["error"] != "invalid_client_metadata" || answer["client_secret"] != nil {
		t.Errorf("%d %v", status, answer)
	}
}

func TestCodesAreForTheirClientAndTheirResourceOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	form := func(change url.Values) url.Values {
		fields := url.Values{
			"grant_type": {"authorization_code"}, "code": {c.answer("ada", nil).Get("code")}, "redirect_uri": {c.redirect},
			"code_verifier": {verifier}, "resource": {resource},
		}
		for name, values := range change {
			fields[name] = values
		}
		return fields
	}
	for _, test := range []struct {
		change url.Values
		want   string
	}{
		{url.Values{"code_verifier": {verifier + "-not"}}, "invalid_grant"},
		{url.Values{"code_verifier": nil}, "invalid_grant"},
		{url.Values{"resource": {"https://elsewhere.example/mcp"}}, "invalid_target"},
		{url.Values{"redirect_uri": {"http://127.0.0.1:1/callback"}}, "invalid_grant"},
	} {
		if status, answer := c.token(form(test.change)); status != http.StatusBadRequest || answer["error"] != test.want {
			t.Errorf("%v: %d %v", test.change, status, answer)
		}
	}
	once := form(nil)
	if status, answer := c.token(once); status != http.StatusOK {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer := c.token(once); answer["error"] != "invalid_grant" {
		t.Errorf("a second time: %d %v", status, answer)
	}
}

// The audience is that of the authorization request also where the token request does not name it again.
func TestRefreshTokensRotate(t *testing.T) {
	t.Parallel()
	c := newClient(t, start(t, Options{AccessTokenSeconds: 2}))
	first := c.signIn("bob", url.Values{"scope": {"contacts:read emails:bulk"}})
	_, before := c.verified(first)
	if before["exp"].(float64)-before["iat"].(float64) != 2 || first["expires_in"] != 2.0 {
		t.Errorf("claims %v, expires_in %v", before, first["expires_in"])
	}
	refresh := func(token any) (int, map[string]any) {
		return c.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.(string)}})
	}
	status, second := refresh(first["refresh_token"])
	if status != http.StatusOK || second["refresh_token"] == first["refresh_token"] {
		t.Fatalf("refreshing: %d, the same refresh token: %t", status, status == http.StatusOK)
	}
	_, after := c.verified(second)
	for _, name := range []string{"sub", "aud", "scope", "auth_time", "acr"} {
		if diff := cmp.Diff(before[name], after[name]); diff != "" {
			t.Errorf("%s: (-before +after)\n%s", name, diff)
		}
	}
	if before["jti"] == after["jti"] {
		t.Error("the refreshed token is the old one")
	}
	// Who presents a used token may have stolen it, so what came of it ends too.
	if _, answer := refresh(first["refresh_token"]); answer["error"] != "invalid_grant" {
		t.Errorf("a used refresh token: %v", answer)
	}
	if _, answer := refresh(second["refresh_token"]); answer["error"] != "invalid_grant" {
		t.Errorf("the one that followed it: %v", answer)
	}
}

// Who has signed in is not asked again, until a client says how fresh or of which class the sign-in must be.
func TestStepUp(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	c.browser = signin.Options{Jar: jar, Page: func(_, text string) {
		title, _, _ := strings.Cut(text, " a test")
		asked = append(asked, title)
	}}
	in := "Sign in Sign in"
	consent := "Give access Give access"
	for _, step := range []struct {
		change url.Values
		pages  []string
		acr    string
	}{
		{url.Values{"scope": {"contacts:read"}}, []string{in, consent}, ClassPassword},
		{url.Values{"scope": {"contacts:read"}}, []string{consent}, ClassPassword},
		{url.Values{"scope": {"contacts:read"}, "max_age": {"900"}}, []string{consent}, ClassPassword},
		{url.Values{"scope": {"contacts:read"}, "max_age": {"0"}}, []string{in, consent}, ClassPassword},
		{url.Values{"scope": {"emails:send"}, "prompt": {"login"}}, []string{in, consent}, ClassPassword},
		{url.Values{"acr_values": {"unheard-of mfa"}}, []string{in, consent}, ClassSecondFactor},
		{url.Values{"acr_values": {"mfa"}}, []string{consent}, ClassSecondFactor},
		{url.Values{"acr_values": {"pwd"}}, []string{in, consent}, ClassPassword},
	} {
		asked = nil
		_, claims := c.verified(c.signIn("ada", step.change))
		if diff := cmp.Diff(step.pages, asked); diff != "" || claims["acr"] != step.acr {
			t.Errorf("%v: acr %v, pages (-want +got)\n%s", step.change, claims["acr"], diff)
		}
	}
}

// A browser that somebody has signed in with lets somebody else sign in on the page that asks for consent.
func TestSomebodyElse(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.browser.Jar = jar
	bulk := url.Values{"scope": {"emails:bulk"}}
	if _, claims := c.verified(c.signIn("ada", bulk)); claims["scope"] != "emails:bulk" {
		t.Fatalf("claims %v", claims)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.ask(bulk), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Jar: jar}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	var last string
	c.browser.Page = func(_, text string) { last = text }
	another := response.Request.URL.String() + "?" + url.Values{"as": {"another"}, "redirect_uri": {c.redirect}}.Encode()
	callback, err := signin.Follow(t.Context(), another, c.user("bob"), c.browser)
	if err != nil || !strings.Contains(callback, "code=") {
		t.Errorf("callback %s, %v", callback, err)
	}
	if !strings.Contains(last, "signed in as bob") || !strings.Contains(last, "would not get it: emails:bulk") {
		t.Errorf("the last page says %q", last)
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	server := shared(t, "")
	c := newClient(t, server)
	ask := func(secret string, form url.Values) (int, map[string]any) {
		form.Set("grant_type", "client_credentials")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.endpoint("token"),
			strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.SetBasicAuth(server.Machine.ClientID, secret)
		return do(t, request)
	}
	status, tokens := ask(server.Machine.Secret, url.Values{"resource": {resource}, "scope": {"emails:send unheard:of"}})
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, tokens)
	}
	_, claims := c.verified(tokens)
	if claims["sub"] != server.Machine.ClientID || claims["client_id"] != server.Machine.ClientID ||
		claims["aud"] != resource || claims["scope"] != "emails:send" || claims["auth_time"] != nil {
		t.Errorf("claims %v", claims)
	}
	if status, answer := ask("guessed", url.Values{"resource": {resource}}); status != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d %v", status, answer)
	}
	_, answer := ask(server.Machine.Secret, url.Values{"resource": {"https://elsewhere.example/"}})
	if answer["error"] != "invalid_target" {
		t.Errorf("another resource: %v", answer)
	}
}

// Clients in web pages register and get tokens from wherever their page is; a sign-in is no page's to read.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, ""))
	for address, want := range map[string]string{
		c.endpoint("registration"): "*",
		c.endpoint("token"):        "*",
		c.metadata["issuer"].(string) + "/.well-known/oauth-authorization-server": "*",
		c.endpoint("authorization"): "",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", "https://inspector.example")
		request.Header.Set("Access-Control-Request-Method", http.MethodPost)
		request.Header.Set("Access-Control-Request-Headers", "mcp-protocol-version, content-type")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("%s: origin %q", address, got)
		}
		headers := response.Header.Get("Access-Control-Allow-Headers")
		if want != "" && !strings.Contains(headers, "mcp-protocol-version") {
			t.Errorf("%s: headers %q", address, headers)
		}
	}
}

func TestRequestsThatNameAnotherHost(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Names: []string{"host.example"}})
	for host, want := range map[string]int{
		"localhost:1": http.StatusOK, "host.example": http.StatusOK, "rebound.example": http.StatusForbidden,
	} {
		address := server.Issuer + authorization.OpenIDMetadataPath
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d", host, response.StatusCode)
		}
	}
}

func TestTheLogTellsWhatHappensWithoutSecrets(t *testing.T) {
	t.Parallel()
	written := make(chan []byte, 100)
	server := start(t, Options{Log: func(line []byte) { written <- line }})
	c := newClient(t, server)
	tokens := c.signIn("ada", url.Values{"scope": {"contacts:read"}})
	server.Close()
	close(written)
	var log []byte
	for line := range written {
		log = append(append(log, line...), '\n')
	}
	for _, event := range []string{"registered", "signed in", "authorized", "gave a token"} {
		if !bytes.Contains(log, []byte(`"msg":"`+event+`"`)) {
			t.Errorf("the log has no %q:\n%s", event, log)
		}
	}
	for _, name := range []string{"access_token", "refresh_token", "id_token"} {
		if secret := tokens[name].(string); bytes.Contains(log, []byte(secret)) {
			t.Errorf("the log has the %s", name)
		}
	}
	if bytes.Contains(log, []byte(c.user("ada").Password)) {
		t.Error("the log has the password")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"no resource":          {Options{}, "the resource is missing"},
		"another kind":         {Options{Resource: resource, Like: "okta"}, `like is "okta"; allowed: "cognito" or nothing`},
		"no address":           {Options{Resource: resource, Addr: "here"}, `reading address "here"`},
		"a user without name":  {Options{Resource: resource, Users: []User{{}}}, "user 0 has no name"},
		"a scope of nothing's": {Options{Resource: resource, Users: []User{{Name: "a", Scopes: []string{"b"}}}}, `scope "b"`},
	} {
		_, err := Start(t.Context(), test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "not installed") {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

func TestAuthorizationIsAConfiguration(t *testing.T) {
	t.Parallel()
	for _, like := range []string{"", LikeCognito} {
		server := start(t, Options{Like: like, RedirectURIs: []string{redirectURI}})
		config := server.Authorization()
		if err := config.Complete(); err != nil {
			t.Errorf("%q: %v", like, err)
		}
		if config.Find(server.Issuer) == nil || (config.Front != nil) != (like == LikeCognito) {
			t.Errorf("%q: %+v", like, config)
		}
		if config.Front != nil && !slices.Contains(config.Front.RedirectURIs, redirectURI) {
			t.Errorf("redirect URIs %v", config.Front.RedirectURIs)
		}
	}
}
