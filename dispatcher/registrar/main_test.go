package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"patchbay/dispatcher/registrar/order"
	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/motoserver"
	"patchbay/scripts/motoserver/motoservertest"
	"patchbay/shared/registry"
)

const table = "notes-prod-registry"

func TestSettings(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"AWS_REGION": "eu-west-1", "PATCHBAY_TABLE": table, "PATCHBAY_MAX_CALL_SECONDS": "60",
		"PATCHBAY_DEPLOYMENT": "notes-prod",
	}
	for _, test := range []struct{ name, value, says string }{
		{"PATCHBAY_TABLE", table, ""},
		{"AWS_REGION", "", "AWS_REGION"},
		{"PATCHBAY_TABLE", "", "PATCHBAY_TABLE"},
		{"PATCHBAY_MAX_CALL_SECONDS", "", "a whole number from 1 to 900"},
		{"PATCHBAY_MAX_CALL_SECONDS", "901", "a whole number from 1 to 900"},
		{"PATCHBAY_DEPLOYMENT", "", "a deployment's name"},
		{"PATCHBAY_DEPLOYMENT", "notes", "a deployment's name"},
		{"PATCHBAY_DEPLOYMENT", "notes-prod-", "a deployment's name"},
	} {
		_, err := newHandler(func(name string) string {
			if name == test.name {
				return test.value
			}
			return good[name]
		}, slog.New(slog.DiscardHandler))
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s=%q: error %v", test.name, test.value, err)
		}
	}
}

// TestProgram runs the built program on the local Lambda service, against moto's DynamoDB, S3 and Lambda, which
// throttles at first, and sends it the events of a stack's life.
func TestProgram(t *testing.T) {
	t.Parallel()
	moto := motoservertest.Start(t, os.Getenv, motoserver.Options{})
	furnish(t, moto.Config())
	programs := t.TempDir()
	err := build.Go(t.Context(), build.GoOptions{
		ModuleDir: "../..", OutDir: programs, Packages: []string{"./dispatcher/registrar"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer atomic.Pointer[cfn.Response]
	answers := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent cfn.Response
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		answer.Store(&sent)
	}))
	t.Cleanup(answers.Close)
	log := &lines{}
	service := locallambda.New(locallambda.Options{Account: motoserver.Account, Log: log.add})
	t.Cleanup(service.Close)
	arn, err := service.Deploy(locallambda.Function{
		Name: "notes-prod-registrar", Dir: filepath.Join(programs, "registrar"), Timeout: time.Minute, MemoryMB: 256,
		Env: map[string]string{
			"PATCHBAY_TABLE": table, "PATCHBAY_MAX_CALL_SECONDS": "60", "PATCHBAY_DEPLOYMENT": "notes-prod",
			"AWS_ENDPOINT_URL_DYNAMODB": moto.URL, "AWS_ENDPOINT_URL_S3": moto.URL,
			"AWS_ENDPOINT_URL_LAMBDA": throttled(t, moto.URL), "SSL_CERT_FILE": trust(t, answers),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		event  string
		status cfn.StatusType
		tools  int
	}{
		{"create", cfn.StatusSuccess, 1},
		{"update-version-missing", cfn.StatusFailed, 1},
		{"rollback-of-refused", cfn.StatusSuccess, 1},
		{"delete", cfn.StatusSuccess, 0},
	} {
		response, err := service.Invoke(t.Context(), arn, event(t, step.event, answers.URL))
		if err != nil || response.FunctionError() != "" {
			t.Fatalf("%s: %+v, %v\n%s", step.event, response, err, log)
		}
		if got := answer.Swap(nil); got == nil || got.Status != step.status {
			t.Fatalf("%s: answer %+v\n%s", step.event, got, log)
		}
		page, err := registry.NewReader(dynamodb.NewFromConfig(moto.Config()), table, registry.ReaderOptions{}).
			Page(t.Context(), "", registry.PageLimits{}, nil)
		if err != nil || len(page.Definitions) != step.tools {
			t.Errorf("after %s: %d tools, %v; want %d", step.event, len(page.Definitions), err, step.tools)
		}
	}
	orders(t, service, arn)
	if strings.Contains(log.String(), "X-Amz-Signature") {
		t.Errorf("the log has a pre-signed URL:\n%s", log)
	}
}

// orders sends the program an order of a person's, by the alias that is for them and by none.
func orders(t *testing.T, service *locallambda.Service, arn string) {
	t.Helper()
	if err := service.Alias("notes-prod-registrar", order.Alias, arn[strings.LastIndexByte(arn, ':')+1:]); err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile(filepath.Join("resource", "testdata", "contracts", "get_weather.json"))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(order.Order{Version: order.Version, Source: "maps-team", Tools: []order.Tool{{
		Contract: string(contract), File: "tool.json",
		Function: "arn:aws:lambda:us-east-1:123456789012:function:notes-prod-tool-get-weather-5b0c91aa:1",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := service.Invoke(t.Context(), "notes-prod-registrar:"+order.Alias, payload)
	if err != nil {
		t.Fatal(err)
	}
	var answer order.Answer
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Refused != "" ||
		len(answer.Changes) != 1 {
		t.Errorf("by the alias: %+v, %v", answer, err)
	}
	if response, err = service.Invoke(t.Context(), arn, payload); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.FunctionError() == "" {
		t.Errorf("an order that does not come by the alias is taken: %v", err)
	}
}

// event is one of the events of package resource's tests, with the answer to come to url.
func event(t *testing.T, name, url string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("resource", "testdata", "events", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	members["ResponseURL"] = url + "/?X-Amz-Signature=5ec4e7"
	if data, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	return data
}

// trust writes a file with the server's certificate.
func trust(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trusted.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// throttled is Lambda as many deploys at once find it: it refuses the first requests, more of them than the SDK's own
// three attempts.
func throttled(t *testing.T, lambdaURL string) string {
	t.Helper()
	target, err := url.Parse(lambdaURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 4 {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Amzn-ErrorType", "TooManyRequestsException")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"Reason":"CallerRateLimitExceeded","message":"Rate exceeded"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// furnish makes what the events name.
func furnish(t *testing.T, config aws.Config) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(registry.CreateTable(t.Context(), dynamodb.NewFromConfig(config), table))
	role, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("tools"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
	})
	must(err)
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	_, err = archive.Create("bootstrap")
	must(err)
	must(archive.Close())
	_, err = lambda.NewFromConfig(config).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: aws.String("notes-prod-tool-get-weather-5b0c91aa"), Role: role.Role.Arn, Publish: true,
		Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Timeout: aws.Int32(5),
		Code: &types.FunctionCode{ZipFile: code.Bytes()},
	})
	must(err)
	files := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := aws.String("cdk-hnb659fds-assets-123456789012-us-east-1")
	_, err = files.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket})
	must(err)
	text, err := os.ReadFile(filepath.Join("resource", "testdata", "contracts", "get_weather.json"))
	must(err)
	catalogue, err := json.Marshal(map[string]any{"formatVersion": 1, "tools": []any{
		map[string]any{"contract": string(text), "file": "functions/get_weather/tool.json"},
	}})
	must(err)
	for _, key := range []string{"v1.json", "v2.json"} {
		_, err = files.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: bucket, Key: aws.String(key), Body: bytes.NewReader(catalogue),
		})
		must(err)
	}
}

// lines are what the program has logged.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) add(_, _ string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(&l.all, string(line)+"\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
