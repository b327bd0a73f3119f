package secret_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"patchbay/scripts/motoserver"
	"patchbay/scripts/motoserver/motoservertest"
	"patchbay/shared/secret"
)

// account is a moto server with secrets in it.
type account struct {
	testing.TB
	server     *motoserver.Server
	secrets    *secretsmanager.Client
	parameters *ssm.Client
	references map[string]string
	// url is where the secrets are read: the server, or what stands before it.
	url string
}

func newAccount(tb testing.TB, options motoserver.Options) *account {
	tb.Helper()
	server := motoservertest.Start(tb, os.Getenv, options)
	return &account{
		TB: tb, server: server, references: map[string]string{}, url: server.URL,
		secrets: secretsmanager.NewFromConfig(server.Config()), parameters: ssm.NewFromConfig(server.Config()),
	}
}

// secret keeps a text in Secrets Manager, under a name of its own that is never the contract's.
func (a *account) secret(name, text string) {
	a.Helper()
	out, err := a.secrets.CreateSecret(a.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("tracker-prod/" + name), SecretString: &text,
	})
	if err != nil {
		a.Fatal(err)
	}
	a.references[name] = *out.ARN
}

// rotate replaces a text.
func (a *account) rotate(name, text string) {
	a.Helper()
	_, err := a.secrets.PutSecretValue(a.Context(), &secretsmanager.PutSecretValueInput{
		SecretId: aws.String(a.references[name]), SecretString: &text,
	})
	if err != nil {
		a.Fatal(err)
	}
}

func (a *account) parameter(name, text string, kind ssmtypes.ParameterType) {
	a.Helper()
	_, err := a.parameters.PutParameter(a.Context(), &ssm.PutParameterInput{
		Name: aws.String("/tracker-prod/" + name), Value: &text, Type: kind,
	})
	if err != nil {
		a.Fatal(err)
	}
	a.references[name] = "arn:aws:ssm:us-east-1:123456789012:parameter/tracker-prod/" + name
}

// open is what a tool's main does in a function with these references.
func (a *account) open() *secret.Cache {
	a.Helper()
	references, err := json.Marshal(a.references)
	if err != nil {
		a.Fatal(err)
	}
	environment := map[string]string{
		"PATCHBAY_SECRETS": string(references), "AWS_REGION": "eu-west-1",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": a.url, "AWS_ENDPOINT_URL_SSM": a.url,
	}
	secrets, err := secret.Open(func(name string) string { return environment[name] })
	if err != nil {
		a.Fatal(err)
	}
	return secrets
}

func get(t *testing.T, source secret.Source, name, want string) {
	t.Helper()
	if got, err := source.Get(t.Context(), name); err != nil || got.Reveal() != want {
		t.Errorf("%s = %q, %v; want %q", name, got.Reveal(), err, want)
	}
}

func TestSecretsOfBothServices(t *testing.T) {
	t.Parallel()
	a := newAccount(t, motoserver.Options{})
	a.secret("tracker-token", "hunter2\n")
	a.secret("database", `{"username":"app","password":"hunter2"}`)
	a.parameter("weather-key", "sunshine", ssmtypes.ParameterTypeSecureString)
	a.parameter("plain", "hunter2", ssmtypes.ParameterTypeString)
	a.references["gone"] = "arn:aws:secretsmanager:us-east-1:123456789012:secret:gone-AbCdEf"
	a.references["gone-too"] = "arn:aws:ssm:us-east-1:123456789012:parameter/gone"
	out, err := a.secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("binary"), SecretBinary: []byte("hunter2"),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.references["binary"] = *out.ARN
	secrets := a.open()

	get(t, secrets, "tracker-token", "hunter2\n")
	get(t, secrets, "database", `{"username":"app","password":"hunter2"}`)
	get(t, secrets, "weather-key", "sunshine")
	for name, want := range map[string]string{
		"plain":      "is a String; a secret must be a SecureString",
		"binary":     "it is binary",
		"gone":       "no such secret",
		"gone-too":   "no such secret",
		"undeclared": `"undeclared" is not in PATCHBAY_SECRETS, which has binary, database, gone`,
	} {
		_, err := secrets.Get(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) ||
			strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: error = %v, want %q", name, err, want)
		}
		if isGone := want == "no such secret" || name == "undeclared"; errors.Is(err, secret.ErrNotFound) != isGone {
			t.Errorf("%s: error = %v, ErrNotFound: %t", name, err, !isGone)
		}
		if errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("%s: error = %v, as if the service had not answered", name, err)
		}
	}
}

// The value is read anew in the service: what lies between is the Cache's own time, whose test moves its clock.
func TestRotatedSecret(t *testing.T) {
	t.Parallel()
	a := newAccount(t, motoserver.Options{})
	a.secret("tracker-token", "one")
	get(t, a.open(), "tracker-token", "one")
	a.rotate("tracker-token", "two")
	get(t, a.open(), "tracker-token", "two")
}

// Moto checks credentials after its first requests, and knows none of them.
func TestDeniedSecret(t *testing.T) {
	t.Parallel()
	a := newAccount(t, motoserver.Options{Env: []string{"INITIAL_NO_AUTH_ACTION_COUNT=2"}})
	a.secret("tracker-token", "hunter2")
	a.parameter("weather-key", "hunter2", ssmtypes.ParameterTypeSecureString)
	secrets := a.open()
	for _, name := range []string{"tracker-token", "weather-key"} {
		_, err := secrets.Get(t.Context(), name)
		if err == nil || errors.Is(err, secret.ErrUnavailable) || errors.Is(err, secret.ErrNotFound) {
			t.Errorf("%s: error = %v, want a refusal", name, err)
		}
	}
}

// A server that is gone, one that is out of order and one that is overrun have not said that there is no secret.
func TestServiceOutOfOrder(t *testing.T) {
	t.Parallel()
	a := newAccount(t, motoserver.Options{})
	a.secret("tracker-token", "hunter2")
	a.parameter("weather-key", "hunter2", ssmtypes.ParameterTypeSecureString)
	expect := func(what string, url string) {
		t.Helper()
		a.url = url
		for _, name := range []string{"tracker-token", "weather-key"} {
			if _, err := a.open().Get(t.Context(), name); !errors.Is(err, secret.ErrUnavailable) {
				t.Errorf("%s: %s: error = %v, want ErrUnavailable", what, name, err)
			}
		}
	}
	reply := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	expect("out of order", reply(http.StatusInternalServerError, `{"__type":"InternalServiceError"}`))
	expect("overrun", reply(http.StatusBadRequest, `{"__type":"ThrottlingException","message":"Rate exceeded"}`))
	expect("cut off", reply(http.StatusOK, `{"SecretString":"hun`))
	url := a.server.URL
	a.server.Close()
	expect("gone", url)
}

// Many goroutines of one tool that all need the same secret first make one request.
func TestConcurrentMissesMakeOneRequest(t *testing.T) {
	t.Parallel()
	a := newAccount(t, motoserver.Options{})
	a.secret("tracker-token", "hunter2")
	var requests atomic.Int32
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	target, err := url.Parse(a.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		arrived <- struct{}{}
		<-release
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	a.url = proxy.URL
	secrets := a.open()

	done := make(chan error)
	fetch := func(ctx context.Context) {
		_, err := secrets.Get(ctx, "tracker-token")
		done <- err
	}
	go fetch(t.Context())
	<-arrived
	for range 7 {
		go fetch(t.Context())
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := secrets.Get(gone, "tracker-token"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: error = %v", err)
	}
	close(release)
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}
