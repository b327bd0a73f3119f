package deployment

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/rights"
	"patchbay/scripts/localgateway"
	"patchbay/shared/contract"
	"patchbay/shared/gatewayresponse"
)

const securedPrefix = "patchbay-secured"

// A stage that asks for tokens, as the emulator understands it; and then the programs themselves, set up as the
// template sets them up, behind a gateway that has the template's routes and gateway responses.
func TestDeployedSecured(t *testing.T) {
	t.Parallel()
	w, stack := start(t), secured(t)
	w.host(t, stack, securedPrefix+"-registrar", "registrar", nil)
	if err := w.engine(t).Deploy(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	stage := stageOf(t, "secured")

	t.Run("API", func(t *testing.T) {
		checkAPI(t, w, securedPrefix, map[string]string{
			"ANY /mcp": "CUSTOM", "OPTIONS /mcp": "NONE",
			"ANY /.well-known/oauth-protected-resource":     "NONE",
			"ANY /.well-known/oauth-protected-resource/mcp": "NONE",
			"ANY /.well-known/oauth-authorization-server":   "NONE",
			"ANY /.well-known/openid-configuration":         "NONE",
			"ANY /oauth/register":                           "NONE",
		})
	})
	t.Run("authorizer", func(t *testing.T) { checkAuthorizer(t, w) })
	t.Run("logs", func(t *testing.T) { checkLogs(t, w, stack) })
	t.Run("roles as they are deployed", func(t *testing.T) {
		tools := slices.DeleteFunc(exampleTools(t), func(tool *contract.Tool) bool {
			return !slices.Contains(stage.Examples.Names, tool.Name)
		})
		(&rights.Deployment{
			Stage: stage, Stack: stack, Roles: w.roles(t, securedPrefix), RoleOf: w.roleOf(t), Tools: tools,
			Account: account, Region: region,
		}).Check(t)
	})
	t.Run("a client without a token", func(t *testing.T) { checkDiscovery(t, w, stack) })
}

func checkAuthorizer(t *testing.T, w *world) {
	name := securedPrefix + "-authorizer"
	got, err := lambda.NewFromConfig(w.config).GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: &name})
	if err != nil {
		t.Fatal(err)
	}
	c := got.Configuration
	if *c.MemorySize != 256 || *c.Timeout != 10 || c.Environment.Variables["PATCHBAY_AUTHORIZATION_FILE"] == "" ||
		c.Environment.Variables["PATCHBAY_TABLE"] != securedPrefix+"-registry" {
		t.Errorf("the authorizer has %d MB, %d s and %v", *c.MemorySize, *c.Timeout, c.Environment.Variables)
	}
	api := w.restAPI(t, apigateway.NewFromConfig(w.config), securedPrefix)
	w.checkInvokedBy(t, name, fmt.Sprintf("arn:aws:execute-api:%s:%s:%s/authorizers/", region, account, *api))
}

// serve runs a stack's dispatcher and authorizer behind a gateway as its template describes one.
func (w *world) serve(t *testing.T, stack *assembly.Stack) *httptest.Server {
	t.Helper()
	functions := map[string]string{}
	for _, program := range []string{"dispatcher", "authorizer"} {
		function := stack.Name + "-" + program
		configuration, err := filepath.Abs(filepath.Join(packageOf(t, stack, function), "authorization.json"))
		if err != nil {
			t.Fatal(err)
		}
		more := map[string]string{
			// The programs are those of this machine; the file is the one that is deployed with them.
			"PATCHBAY_AUTHORIZATION_FILE": configuration,
		}
		if program == "dispatcher" {
			// The secret's ARN ends in characters that only Secrets Manager knows; its name will do.
			more["PATCHBAY_SEAL_KEYS_SECRET"] = stack.Name + "/seal-keys"
		}
		w.host(t, stack, function, program, more)
		functions[program] = function
	}
	gateway := httptest.NewServer(localgateway.New(localgateway.Options{
		Invoker: w.service, FunctionARN: functions["dispatcher"], AuthorizerARN: functions["authorizer"],
		Routes: routes(t, stack), Responses: responses(t, stack),
	}))
	t.Cleanup(gateway.Close)
	return gateway
}

// packageOf is the folder with the content of a function's package.
func packageOf(t *testing.T, stack *assembly.Stack, function string) string {
	t.Helper()
	for _, r := range stack.Own() {
		if name, _ := r.Properties["FunctionName"].(string); name == function {
			raw := stack.Template["Resources"].(map[string]any)[r.ID].(map[string]any)
			return filepath.Join(dirOf("secured"), raw["Metadata"].(map[string]any)["aws:asset:path"].(string))
		}
	}
	t.Fatalf("there is no function %s", function)
	return ""
}

// variable is the value of a variable of a function's environment.
func variable(t *testing.T, stack *assembly.Stack, function, name string) string {
	t.Helper()
	for _, r := range stack.Own() {
		if is, _ := r.Properties["FunctionName"].(string); is != function {
			continue
		}
		resolved, err := r.Stack.Resolve(r.Properties["Environment"])
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resolved.(map[string]any)["Variables"].(map[string]any)[name])
	}
	t.Fatalf("there is no function %s", function)
	return ""
}

// routes are the methods of a template's API.
func routes(t *testing.T, stack *assembly.Stack) []localgateway.Route {
	t.Helper()
	byID := map[string]assembly.Resource{}
	for _, r := range stack.Resources("AWS::ApiGateway::Resource") {
		byID[r.ID] = r
	}
	var path func(reference any) string
	path = func(reference any) string {
		id, _ := reference.(map[string]any)["Ref"].(string)
		if r, ok := byID[id]; ok {
			return path(r.Properties["ParentId"]) + "/" + r.Properties["PathPart"].(string)
		}
		return ""
	}
	var all []localgateway.Route
	for _, r := range stack.Resources("AWS::ApiGateway::Method") {
		method := r.Properties["HttpMethod"].(string)
		if method == "ANY" {
			method = ""
		}
		all = append(all, localgateway.Route{
			Method: method, Path: path(r.Properties["ResourceId"]), Open: r.Properties["AuthorizationType"] == "NONE",
		})
	}
	return all
}

// responses are what a template's gateway responses come from.
func responses(t *testing.T, stack *assembly.Stack) gatewayresponse.Options {
	t.Helper()
	var options gatewayresponse.Options
	for _, r := range stack.Resources("AWS::ApiGateway::GatewayResponse") {
		resolved, err := r.Stack.Resolve(r.Properties["ResponseParameters"])
		if err != nil {
			t.Fatal(err)
		}
		challenge, _ := resolved.(map[string]any)["gatewayresponse.header.WWW-Authenticate"].(string)
		switch r.Properties["ResponseType"] {
		case gatewayresponse.Unauthorized:
			options.Challenge = strings.Trim(challenge, "'")
			options.CrossOrigin = resolved.(map[string]any)["gatewayresponse.header.Access-Control-Allow-Origin"] != nil
		case gatewayresponse.AccessDenied:
			options.Computed = challenge == "context.authorizer."+gatewayresponse.ContextChallenge
		}
	}
	return options
}

// checkDiscovery goes the way of a client that knows nothing but the URL, as far as it leads without an authorization
// server.
func checkDiscovery(t *testing.T, w *world, stack *assembly.Stack) {
	gateway := w.serve(t, stack)
	resource := variable(t, stack, securedPrefix+"-dispatcher", "PATCHBAY_RESOURCE")
	base := strings.TrimSuffix(resource, "/mcp")

	status, header, _ := ask(t, http.MethodPost, gateway.URL+"/mcp", "{}", nil)
	challenge := header.Get("WWW-Authenticate")
	want := `Bearer resource_metadata="` + base + `/.well-known/oauth-protected-resource/mcp", ` +
		`scope="patchbay/contacts:read"`
	if status != http.StatusUnauthorized || challenge != want {
		t.Fatalf("without a token: %d, WWW-Authenticate: %s\nwant 401, %s", status, challenge, want)
	}
	address := regexp.MustCompile(`resource_metadata="([^"]*)"`).FindStringSubmatch(challenge)[1]

	var metadata struct {
		Resource             string
		AuthorizationServers []string `json:"authorization_servers"`
		ScopesSupported      []string `json:"scopes_supported"`
	}
	status, _, body := ask(t, http.MethodGet, gateway.URL+strings.TrimPrefix(address, base), "", nil)
	if err := json.Unmarshal(body, &metadata); err != nil || status != http.StatusOK || metadata.Resource != resource {
		t.Fatalf("%s: %d %s, %v", address, status, body, err)
	}
	// The fronted issuer stands as this server's own.
	if !slices.Equal(metadata.AuthorizationServers, []string{base, "https://login.example.com"}) {
		t.Errorf("authorization servers %v", metadata.AuthorizationServers)
	}
	for _, scope := range []string{"patchbay/contacts:read", "patchbay/emails:send"} {
		if !slices.Contains(metadata.ScopesSupported, scope) {
			t.Errorf("scopes %v, without %s", metadata.ScopesSupported, scope)
		}
	}

	status, _, body = ask(t, http.MethodPost, gateway.URL+"/oauth/register",
		`{"redirect_uris": ["http://localhost:3127/callback"]}`, map[string]string{"Content-Type": "application/json"})
	if status != http.StatusCreated || !strings.Contains(string(body), `"4exampleclientid0000000000"`) {
		t.Errorf("registering: %d %s", status, body)
	}
	status, header, _ = ask(t, http.MethodOptions, gateway.URL+"/mcp", "", map[string]string{
		"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST",
		"Access-Control-Request-Headers": "authorization,content-type",
	})
	if status >= 300 || header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("a browser's own question: %d %v", status, header)
	}
	status, _, _ = ask(t, http.MethodGet, gateway.URL+"/.well-known/elsewhere", "", nil)
	if status != http.StatusNotFound {
		t.Errorf("another address: %d", status)
	}
}

func ask(t *testing.T, method, url, body string, header map[string]string) (int, http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		request.Header.Set(name, header[name])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, read
}
