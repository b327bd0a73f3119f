package resource_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"patchbay/dispatcher/registrar/resource"
	"patchbay/scripts/motoserver"
	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
	"patchbay/shared/registry"
)

// The names in the events of testdata/events.
const (
	deployment   = "notes-prod"
	bucket       = "cdk-hnb659fds-assets-123456789012-us-east-1"
	weather      = "notes-prod-tool-get-weather-5b0c91aa"
	note         = "notes-prod-tool-create-note-77d0e3c1"
	quote        = "shipping-quote" // of somebody else
	documented   = "notes-prod-tool-quote-shipping"
	stacks       = "arn:aws:cloudformation:us-east-1:123456789012:stack/"
	stack        = stacks + "notes-prod/8f0d1c60-9c1e-11f0-8a3b-0affd5a1b2c3"
	otherStack   = stacks + "shipping-tools/1b5e7a20-9c20-11f0-b1d4-12cf9a8e4d55"
	functions    = "arn:aws:lambda:us-east-1:123456789012:function:"
	registrarARN = functions + "notes-prod-registrar"
	// theirFunctions are those of another account.
	theirFunctions = "arn:aws:lambda:us-east-1:999999999999:function:"
)

// moto is the AWS of all tests here: nil where it is not installed.
var moto *motoserver.Server

func TestMain(m *testing.M) {
	server, err := motoserver.Start(context.Background(), motoserver.Options{})
	if err != nil && (!errors.Is(err, pytools.ErrNotInstalled) || nodemodules.Required(os.Getenv)) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err == nil {
		moto = server
		if err := furnish(context.Background(), server.Config()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if moto != nil {
		moto.Close()
	}
	os.Exit(code)
}

// furnish makes what the events name: functions with versions, and the files of deployments.
func furnish(ctx context.Context, config aws.Config) error {
	role, err := iam.NewFromConfig(config).CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: aws.String("tools"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
	})
	if err != nil {
		return err
	}
	functions := lambda.NewFromConfig(config)
	for name, versions := range map[string]int{weather: 2, note: 1, quote: 1, documented: 1} {
		for version := 1; version <= versions; version++ {
			if err := publishVersion(ctx, functions, *role.Role.Arn, name, version); err != nil {
				return fmt.Errorf("publishing %s:%d: %w", name, version, err)
			}
		}
	}
	_, err = functions.CreateAlias(ctx, &lambda.CreateAliasInput{
		FunctionName: aws.String(quote), Name: aws.String("live"), FunctionVersion: aws.String("1"),
	})
	if err != nil {
		return err
	}
	files := newS3(config)
	if _, err := files.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		return err
	}
	for key, content := range map[string]string{
		"v1.json":    catalogue("get_weather"),
		"v2.json":    catalogue("get_weather", "create_note"),
		"notes.json": catalogue("create_note"),
		"bad.json":   badCatalogue(300),
		"none.json":  catalogue(),
		"next.json":  `{"formatVersion":2,"tools":[]}`,
		"else.json":  `{"formatVersion":1,"tools":[],"signed":true}`,
		"text.json":  `contracts`,
	} {
		_, err := files.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String(bucket), Key: aws.String(key), Body: strings.NewReader(content),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func newS3(config aws.Config) *s3.Client {
	return s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
}

// publishVersion makes the function when it has no version yet, else changes its code, and publishes a version.
func publishVersion(ctx context.Context, functions *lambda.Client, role, name string, version int) error {
	code, err := archive(fmt.Sprintf("%s %d", name, version))
	if err != nil {
		return err
	}
	if version == 1 {
		_, err = functions.CreateFunction(ctx, &lambda.CreateFunctionInput{
			FunctionName: aws.String(name), Role: aws.String(role), Code: &types.FunctionCode{ZipFile: code},
			Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Timeout: aws.Int32(5),
		})
	} else {
		_, err = functions.UpdateFunctionCode(ctx, &lambda.UpdateFunctionCodeInput{
			FunctionName: aws.String(name), ZipFile: code,
		})
	}
	if err != nil {
		return err
	}
	out, err := functions.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: aws.String(name)})
	if err != nil {
		return err
	}
	if *out.Version != fmt.Sprint(version) {
		return fmt.Errorf("it became version %s", *out.Version)
	}
	return nil
}

func archive(content string) ([]byte, error) {
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	file, err := w.Create("bootstrap")
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(file, content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// catalogue is the file of a deployment with the contracts in testdata/contracts.
func catalogue(names ...string) string {
	type tool struct {
		Contract string `json:"contract"`
		File     string `json:"file"`
	}
	tools := []tool{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", "contracts", name+".json"))
		if err != nil {
			panic(err)
		}
		tools = append(tools, tool{string(text), "functions/" + name + "/tool.json"})
	}
	return encode(map[string]any{"formatVersion": 1, "tools": tools})
}

// badCatalogue has n contracts that the lint refuses.
func badCatalogue(n int) string {
	var tools []map[string]string
	for i := range n {
		tools = append(tools, map[string]string{
			"file": fmt.Sprintf("functions/bad_%03d/tool.json", i), "contract": `{"name":"bad <name> & more"}`,
		})
	}
	return encode(map[string]any{"formatVersion": 1, "tools": tools})
}

func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// fixture is a catalogue of its own and a place that answers are sent to.
type fixture struct {
	*testing.T
	handler *resource.Handler
	options resource.Options
	db      *dynamodb.Client
	answers *answerServer
	log     *logBuffer

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T, edits ...func(*resource.Options)) *fixture {
	t.Helper()
	if moto == nil {
		t.Skip(pytools.ErrNotInstalled)
	}
	f := &fixture{T: t, db: dynamodb.NewFromConfig(moto.Config()), log: &logBuffer{}, now: time.Now()}
	table := strings.ReplaceAll(t.Name(), "/", "-")
	if err := registry.CreateTable(t.Context(), f.db, table); err != nil {
		t.Fatal(err)
	}
	f.options = resource.Options{
		DynamoDB: f.db, S3: newS3(moto.Config()), Lambda: lambda.NewFromConfig(moto.Config()),
		Log:   slog.New(slog.NewJSONHandler(f.log, nil)),
		Table: table, MaxCallSeconds: 60, Deployment: deployment, Region: motoserver.Region, Now: f.clock,
		Existing: []string{
			functions + quote + ":live", functions + "notes-prod-weather:1", theirFunctions + "weather:live",
			theirFunctions + "notes-prod-tool-theirs:1",
		},
	}
	f.answers = newAnswerServer(t)
	f.options.Transport = f.answers.Client().Transport
	for _, edit := range edits {
		edit(&f.options)
	}
	f.handler = resource.New(f.options)
	return f
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// event reads one of testdata/events, as CloudFormation sent it, with the answer to come here.
func (f *fixture) event(name string, edits ...func(*cfn.Event)) cfn.Event {
	f.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "events", name+".json"))
	if err != nil {
		f.Fatal(err)
	}
	var event cfn.Event
	if err := json.Unmarshal(data, &event); err != nil {
		f.Fatalf("%s: %v", name, err)
	}
	event.ResponseURL = f.answers.URL + "/answer?X-Amz-Signature=" + signature
	for _, edit := range edits {
		edit(&event)
	}
	return event
}

// send delivers an event and returns the answer.
func (f *fixture) send(name string, edits ...func(*cfn.Event)) cfn.Response {
	f.Helper()
	return f.deliver(f.event(name, edits...))
}

// asRegistrar is a context as Lambda gives it.
func asRegistrar(ctx context.Context) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{InvokedFunctionArn: registrarARN})
}

func (f *fixture) deliver(event cfn.Event) cfn.Response {
	f.Helper()
	if err := f.handler.Handle(asRegistrar(f.Context()), event); err != nil {
		f.Fatal(err)
	}
	answer := f.answers.of(event.RequestID)
	if answer.RequestID != event.RequestID || answer.LogicalResourceID != event.LogicalResourceID ||
		answer.StackID != event.StackID || answer.PhysicalResourceID == "" {
		f.Errorf("the answer is of another event: %+v", answer)
	}
	return answer
}

func (f *fixture) succeeds(name string, edits ...func(*cfn.Event)) cfn.Response {
	f.Helper()
	answer := f.send(name, edits...)
	if answer.Status != cfn.StatusSuccess {
		f.Fatalf("%s: %s: %s", name, answer.Status, answer.Reason)
	}
	return answer
}

// fails wants a refusal that says all of these.
func (f *fixture) fails(name string, says ...string) func(edits ...func(*cfn.Event)) cfn.Response {
	return func(edits ...func(*cfn.Event)) cfn.Response {
		f.Helper()
		answer := f.send(name, edits...)
		if answer.Status != cfn.StatusFailed {
			f.Errorf("%s: %s, want a refusal", name, answer.Status)
		}
		for _, want := range says {
			if !strings.Contains(answer.Reason, want) {
				f.Errorf("%s: reason %q does not say %q", name, answer.Reason, want)
			}
		}
		return answer
	}
}

// wantTools checks what a dispatcher would find, each tool as name:version or alias.
func (f *fixture) wantTools(want ...string) {
	f.Helper()
	publisher := registry.NewPublisher(f.db, f.options.Table, registry.PublisherOptions{})
	var got []string
	for _, source := range []string{stack, otherStack} {
		live, _, err := publisher.Live(f.Context(), source)
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range live {
			got = append(got, p.Tool.Name+p.Function[strings.LastIndex(p.Function, ":"):])
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.Errorf("the catalogue has %q, want %q", got, want)
	}
}

// signature is the secret in the URL that answers are sent to.
const signature = "5ec4e7"

// answerServer stands where the pre-signed URL leads.
type answerServer struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	answers map[string]cfn.Response // by request
	// refuse is how many answers are still refused before one is taken.
	refuse int
}

func newAnswerServer(t *testing.T) *answerServer {
	s := &answerServer{t: t, answers: map[string]cfn.Response{}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP takes what S3 takes for CloudFormation: a PUT that is signed for no Content-Type, of at most 4,096 bytes.
func (s *answerServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	if s.refuse > 0 {
		s.refuse--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	contentType, sent := r.Header["Content-Type"]
	if r.Method != http.MethodPut || sent || r.ContentLength != int64(len(body)) || len(body) > 4096 ||
		r.URL.Query().Get("X-Amz-Signature") != signature {
		s.t.Errorf("%s %s with %d bytes of %q", r.Method, r.URL, len(body), contentType)
	}
	if bytes.Contains(body, []byte(`\u003c`)) {
		s.t.Errorf("the answer spends its few bytes on escapes: %.200s", body)
	}
	var answer cfn.Response
	if err := json.Unmarshal(body, &answer); err != nil {
		s.t.Errorf("%s: %v", body, err)
	}
	s.answers[answer.RequestID] = answer
}

// of takes the answer to a request.
func (s *answerServer) of(request string) cfn.Response {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, ok := s.answers[request]
	if !ok {
		s.t.Fatalf("request %s was not answered", request)
	}
	delete(s.answers, request)
	return answer
}

// logBuffer is a log that may be written and read at once.
type logBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// lambdaBehind is a client of moto's Lambda behind answer, which may answer a request itself; false passes it on.
func lambdaBehind(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) *lambda.Client {
	t.Helper()
	if moto == nil {
		t.Skip(pytools.ErrNotInstalled)
	}
	target, err := url.Parse(moto.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	config := moto.Config()
	config.BaseEndpoint = aws.String(server.URL)
	return lambda.NewFromConfig(config)
}

// refusal answers as Lambda refuses.
func refusal(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"Message":"refused by %s"}`, code)
}

func contractText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "contracts", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
