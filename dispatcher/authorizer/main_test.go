package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

// engine is the DynamoDB engine of all tests here.
var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

const resourceURI = "https://mcp.example.com/mcp"

// start makes an authorizer of an environment that is in order, with changes; an empty value is none.
func start(t *testing.T, issuer string, changes map[string]string) (*authorizer, *bytes.Buffer, error) {
	t.Helper()
	root := t.TempDir()
	config := `{"issuers":[{"issuer":"` + issuer + `"}]}`
	if err := os.WriteFile(filepath.Join(root, "authorization.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "LAMBDA_TASK_ROOT": root,
		"PATCHBAY_AUTHORIZATION_FILE": "authorization.json", "PATCHBAY_RESOURCE": resourceURI, "PATCHBAY_TABLE": "registry",
	}
	maps.Copy(environment, changes)
	var log bytes.Buffer
	made, err := newAuthorizer(func(name string) string { return environment[name] },
		slog.New(slog.NewJSONHandler(&log, nil)))
	return made, &log, err
}

// publish puts a tool into the catalogue in a table of the test's own, and returns where that is.
func publish(t *testing.T, rules string) (table, endpoint string) {
	t.Helper()
	db := engine.Client(t)
	table = t.Name()
	if err := registry.CreateTable(t.Context(), db, table); err != nil {
		t.Fatal(err)
	}
	tool, err := contract.Decode(json.RawMessage(`{"name":"send","description":"Sends.","inputSchema":{"type":"object"}}`),
		json.RawMessage(rules))
	if err != nil {
		t.Fatal(err)
	}
	publisher := registry.NewPublisher(db, table, registry.PublisherOptions{})
	_, err = publisher.Publish(t.Context(), "test", []registry.Publication{{
		Tool: tool, Function: "arn:aws:lambda:us-east-1:000000000000:function:send:1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return table, endpointOf(db)
}

func endpointOf(db *dynamodb.Client) string { return *db.Options().BaseEndpoint }

// What the environment names is what is decided by: the issuer's keys, the catalogue's tools, the server's address.
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	table, endpoint := publish(t, `{"category":"test","permissions":["emails:send"]}`)
	key := issuertest.RSA(t, "k")
	issuer := issuertest.New(t, key)
	made, log, err := start(t, issuer.URL, map[string]string{
		"PATCHBAY_TABLE": table, "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "PATCHBAY_DEPLOYMENT": "desk-prod",
	})
	if err != nil {
		t.Fatal(err)
	}
	made.warm()
	if asked := issuer.Asked(); len(asked) != 2 {
		t.Errorf("a new instance asked for %v", asked)
	}
	text := key.Sign(key.Header(), map[string]any{
		"iss": issuer.URL, "sub": "u", "client_id": "c", "aud": resourceURI, "exp": time.Now().Add(time.Minute).Unix(),
	})
	for tool, want := range map[string]string{
		"send":    `"Effect":"Deny"`,
		"unknown": `"Effect":"Allow"`,
	} {
		event, err := json.Marshal(map[string]any{
			"methodArn": "arn:aws:execute-api:us-east-1:000000000000:api/prod/POST/mcp", "httpMethod": "POST",
			"headers": map[string]string{
				"Authorization": "Bearer " + text, "Mcp-Method": "tools/call", "Mcp-Name": tool,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := lambda.NewHandler(made.Decide).Invoke(t.Context(), event)
		if err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%s: got %s, %v; want %s", tool, answer, err, want)
		}
	}
	if asked := issuer.Asked(); asked != nil {
		t.Errorf("a warm instance asked for %v", asked)
	}
	if got := log.String(); strings.Count(got, "\n") != 2 || strings.Count(got, `"deployment":"desk-prod"`) != 2 ||
		strings.Contains(got, `"level":"ERROR"`) {
		t.Errorf("logged %s", got)
	}
}

// An instance starts without its issuer and its catalogue; what is missing is looked for with each request.
func TestStartWithoutAnything(t *testing.T) {
	t.Parallel()
	made, log, err := start(t, "http://localhost:1", map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": "http://localhost:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	made.warm()
	if !strings.Contains(log.String(), "http://localhost:1") {
		t.Errorf("logged %s", log)
	}
}

// An environment that is not in order is said at the start.
func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"no region":        {map[string]string{"AWS_REGION": ""}, "AWS_REGION"},
		"no file":          {map[string]string{"PATCHBAY_AUTHORIZATION_FILE": ""}, "PATCHBAY_AUTHORIZATION_FILE"},
		"no such file":     {map[string]string{"PATCHBAY_AUTHORIZATION_FILE": "none.json"}, "none.json"},
		"no resource":      {map[string]string{"PATCHBAY_RESOURCE": ""}, "PATCHBAY_RESOURCE"},
		"a resource's top": {map[string]string{"PATCHBAY_RESOURCE": "https://mcp.example.com"}, "PATCHBAY_RESOURCE"},
		"no table":         {map[string]string{"PATCHBAY_TABLE": ""}, "PATCHBAY_TABLE"},
		"an AWS namespace": {map[string]string{
			"PATCHBAY_METRICS": "AWS/Lambda", "PATCHBAY_DEPLOYMENT": "d",
		}, "PATCHBAY_METRICS"},
		"nobody's metrics": {map[string]string{"PATCHBAY_METRICS": "Patchbay"}, "PATCHBAY_DEPLOYMENT"},
	} {
		if _, _, err := start(t, "https://issuer.example", test.changes); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s in it", name, err, test.want)
		}
	}
	if _, _, err := start(t, "http://issuer.example", nil); err == nil || !strings.Contains(err.Error(), "issuers[0]") {
		t.Errorf("an issuer that is not secure: %v", err)
	}
}

// Every request waits for the authorizer, and every new instance for what it links.
func TestAuthorizerLinksLittle(t *testing.T) {
	t.Parallel()
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(listed))
	for unwanted, reason := range map[string]string{
		"github.com/aws/aws-sdk-go-v2/config":                 "it searches where a function has nothing",
		"github.com/aws/aws-sdk-go-v2/service/lambda":         "the authorizer calls no function",
		"github.com/aws/aws-sdk-go-v2/service/secretsmanager": "the authorizer has no secrets",
		"github.com/aws/aws-cdk-go/awscdk/v2":                 "it is for deployments",
		"golang.org/x/oauth2":                                 "the authorizer is no client",
		"patchbay/dispatcher/authorizer/issuertest":           "it is for tests",
		"testing": "it is for tests",
	} {
		if slices.Contains(linked, unwanted) {
			t.Errorf("the authorizer links %s: %s", unwanted, reason)
		}
	}
	if !slices.Contains(linked, "patchbay/shared/registry") {
		t.Errorf("go list says %s", listed)
	}
}
