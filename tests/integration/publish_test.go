package integration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/scripts/motoserver"
)

// legacy is the folder with the code of functions that nobody wrote for Patchbay, and with contracts for them.
const legacy = "legacy"

// contractOf is the folder of a contract for one of them.
func contractOf(tool string) string { return filepath.Join(legacy, "tools", tool) }

// team publishes tools on a local stack of its own, which may be started again.
type team struct {
	*testing.T
	*operator
	stack     *server
	progress  *written // by the last start
	data      string
	functions string // the folder of existing functions
}

func newTeam(t *testing.T) *team {
	t.Helper()
	m := &team{T: t, data: dataOf("publish"), functions: filepath.Join(t.TempDir(), "functions")}
	if err := os.RemoveAll(filepath.Join(m.data, "dynamodb")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(m.functions, os.DirFS(filepath.Join(legacy, "functions"))); err != nil {
		t.Fatal(err)
	}
	m.operator = &operator{
		program: program(t), flags: []string{"--data", m.data},
		audit: func(t *testing.T) string {
			t.Helper()
			content, err := os.ReadFile(filepath.Join(m.data, "operators.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			return string(content)
		},
	}
	t.Cleanup(func() { m.stop() })
	m.start(m.functions)
	return m
}

// start starts the stack with a folder of existing functions, watching it.
func (m *team) start(existing string) {
	m.Helper()
	m.stop()
	m.progress = &written{}
	stack, err := start(m.Context(), localstack.Options{
		Functions: "small", Existing: existing, Data: m.data, Watch: func(localstack.Change) {}, Progress: m.progress,
	})
	if err != nil {
		m.Fatal(err)
	}
	m.stack = stack
}

// written is what a stack says, from the routines that it has.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (m *team) stop() {
	if m.stack != nil {
		m.stack.Close()
		m.stack = nil
	}
}

// publish publishes contracts for a source.
func (m *team) publish(source string, args ...string) string {
	m.Helper()
	return m.must(m.T, append([]string{"tool", "publish", "--source", source, "--yes"}, args...)...)
}

// call calls a tool by an official client, and returns its structured content.
func (m *team) call(tool, arguments string) string {
	m.Helper()
	var result struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	output, err := m.run(m.T, "tool", "call", tool, arguments, "--json")
	if err != nil {
		return err.Error() + "\n" + output
	}
	// What was progress is before the result.
	decode(m.T, output[strings.Index(output, "{"):strings.LastIndex(output, "}")+1], &result)
	return string(result.StructuredContent)
}

func (m *team) wantCall(tool, arguments, want string) {
	m.Helper()
	got := ""
	eventually(m.T, "an answer "+want+" of "+tool, func() bool {
		got = m.call(tool, arguments)
		return equalJSON(got, want)
	})
}

func equalJSON(a, b string) bool {
	var left, right any
	if json.Unmarshal([]byte(a), &left) != nil || json.Unmarshal([]byte(b), &right) != nil {
		return false
	}
	x, errX := json.Marshal(left)
	y, errY := json.Marshal(right)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Functions in Python and Node.js that know nothing of Patchbay become tools of a running stack, of whichever source,
// and stay so through restarts and through what the stack publishes itself.
func TestPublishOnALocalStack(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	said := m.must(t, "tool", "publish", contractOf("order_status"), "--source", "shop-team", "--dry-run")
	for _, part := range []string{"shop-team of local, which serves nothing", "+ order_status", "dry run"} {
		if !strings.Contains(said, part) {
			t.Errorf("the dry run does not say %q: %s", part, said)
		}
	}
	if said := m.must(t, "tool", "list"); strings.Contains(said, "order_status") {
		t.Errorf("a dry run has published: %s", said)
	}
	m.publish("shop-team", contractOf("order_status"))
	m.wantCall("order_status", `{"order":"A-1001"}`, `{"order":"A-1001","since":"2026-11-20","status":"shipped"}`)
	if said := m.publish("shop-team", contractOf("vat_rate")); !strings.Contains(said, "as before: order_status") {
		t.Errorf("does not say that the other tool stays: %s", said)
	}
	m.wantCall("vat_rate", `{"country":"PT"}`, `{"country":"PT","percent":23}`)
	m.wantCall("order_status", `{"order":"A-1002"}`, `{"order":"A-1002","since":"2026-11-28","status":"packed"}`)

	t.Run("what others have", m.testOwners)
	t.Run("what is wrong", m.testFaults)
	t.Run("a function that is saved", m.testWatch)
	t.Run("a restart", m.testRestart)
	t.Run("changes", m.testChanges)
}

func (m *team) testOwners(t *testing.T) {
	m.refused(t, []string{"order_status is owned by source shop-team", "serves tools of source shop-team"},
		"tool", "publish", contractOf("order_status"), "--source", "other-team", "--yes")
	m.refused(t, []string{"local", "own folder"}, "tool", "publish", contractOf("order_status"), "--source", "local")
	m.refused(t, []string{"greet is owned by source local"}, "tool", "publish",
		renamed(t, contractOf("order_status"), "greet"), "--source", "other-team", "--yes")
	wantAudit(t, m.operator, `"tool publish","on":"other-team"`, `"outcome":"failed"`,
		`"tool publish","on":"shop-team","details":{"changes":"+vat_rate","snapshot":"`)
}

// renamed is a copy of a contract for a tool of another name.
func renamed(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "tool.json"))
	if err != nil {
		t.Fatal(err)
	}
	return write(t, strings.Replace(string(text), `"name": "`+filepath.Base(folder)+`"`, `"name": "`+name+`"`, 1))
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tool.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (m *team) testFaults(t *testing.T) {
	order := contractOf("order_status")
	own := filepath.Join("small", "greet")
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"no source":              {[]string{order}, []string{"--source is missing"}},
		"no such folder":         {[]string{"nowhere", "--source", "a"}, []string{"nowhere", "no such file"}},
		"a folder without tools": {[]string{legacy, "--source", "a"}, []string{"has no tool.json"}},
		"code of its own":        {[]string{own, "--source", "a"}, []string{"names no function that exists", "--function"}},
		"errors":                 {[]string{write(t, `{"name":"a"}`), "--source", "a"}, []string{"description-missing"}},
		"a function that is not there": {[]string{order, "--source", "shop-team", "--function",
			"arn:aws:lambda:us-east-1:000000000000:function:nowhere:live"}, []string{"but the contract names"}},
		"no version": {[]string{own, "--source", "a", "--function",
			"arn:aws:lambda:us-east-1:000000000000:function:order_status"}, []string{"with a version or an alias"}},
		"a version that is not there": {[]string{own, "--source", "a", "--function",
			"arn:aws:lambda:us-east-1:000000000000:function:order_status:77"}, []string{"does not exist"}},
		"a function of another tool": {[]string{order, contractOf("vat_rate"), "--source", "shop-team", "--function",
			"order_statsu=local:order_status"}, []string{"did you mean order_status?"}},
		"json without an answer": {[]string{order, "--source", "a", "--json"}, []string{"--dry-run or --yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			m.refused(t, test.says, append([]string{"tool", "publish"}, test.args...)...)
		})
	}
}

// What the stack publishes itself, when something is saved, leaves the tools of others alone; a saved function serves.
func (m *team) testWatch(t *testing.T) {
	file := filepath.Join(m.functions, "vat_rate", "app.js")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "PT: 23", "PT: 24", 1))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	m.wantCall("vat_rate", `{"country":"PT"}`, `{"country":"PT","percent":24}`)
	m.wantCall("order_status", `{"order":"A-1001"}`, `{"order":"A-1001","since":"2026-11-20","status":"shipped"}`)
}

func (m *team) testRestart(t *testing.T) {
	m.start("")
	if said := m.progress.String(); !strings.Contains(said, "the tool vat_rate of source shop-team has no function here") {
		t.Errorf("the start does not say which tools have no function: %s", said)
	}
	if said := m.call("vat_rate", `{"country":"PT"}`); !strings.Contains(said, "exit status") {
		t.Errorf("a tool whose function is not there answers %s", said)
	}
	m.start(m.functions)
	m.wantCall("vat_rate", `{"country":"DE"}`, `{"country":"DE","percent":19}`)
	m.must(t, "tool", "call", "greet", `{"name":"Ada"}`)
	if said := m.progress.String(); strings.Contains(said, "no function here") {
		t.Errorf("the start misses functions that are there: %s", said)
	}
}

func (m *team) testChanges(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(contractOf("order_status"), "tool.json"))
	if err != nil {
		t.Fatal(err)
	}
	changed := write(t, strings.Replace(string(text), `"risk": "low"`, `"risk": "medium"`, 1))
	m.refused(t, []string{`-    "risk": "low",`, `+    "risk": "medium",`, "- vat_rate", "not confirmed"},
		"tool", "publish", changed, "--source", "shop-team", "--replace")
	m.publish("shop-team", changed, "--replace")
	var shown struct {
		Sources []struct {
			Live struct {
				Operator string
				Tools    []string
			}
		}
	}
	decode(t, m.must(t, "catalogue", "show", "shop-team", "--json"), &shown)
	if live := shown.Sources[0].Live; len(live.Tools) != 1 || live.Tools[0] != "order_status" || live.Operator == "" {
		t.Errorf("live is %+v", live)
	}
	m.must(t, "catalogue", "rollback", "shop-team", "--yes")
	m.wantCall("vat_rate", `{"country":"NL"}`, `{"country":"NL","percent":21}`)
	m.must(t, "catalogue", "withdraw", "shop-team", "--yes")
	if said := m.publish("other-team", contractOf("vat_rate")); !strings.Contains(said, "+ vat_rate") {
		t.Errorf("what was withdrawn is not free: %s", said)
	}
}

// On a deployment the same command has the registrar do it, by the alias for people, and needs no right but that.
func TestPublishToADeployment(t *testing.T) {
	t.Parallel()
	o, _ := deployedOperator(t, program(t))
	live := legacyOnAWS(t, o.config)
	hostRegistrar(t, o, live)
	order := contractOf("order_status")
	o.refused(t, []string{"local:order_status is in the local stack alone", "--function order_status=ARN"},
		"tool", "publish", order, "--source", "shop-team", "--yes")
	text, err := os.ReadFile(filepath.Join(order, "tool.json"))
	if err != nil {
		t.Fatal(err)
	}
	order = write(t, strings.Replace(string(text), "local:order_status", live, 1))
	said := o.must(t, "tool", "publish", order, "--source", "shop-team", "--yes")
	for _, part := range []string{
		"source shop-team of shop-prod, which serves nothing", "+ order_status  " + live, "published as snapshot",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("does not say %q: %s", part, said)
		}
	}
	if text := o.must(t, "catalogue", "show", "shop-team"); !strings.Contains(text, live) {
		t.Errorf("the catalogue: %s", text)
	}
	o.refused(t, []string{
		"the dispatcher may not call function " + live[:strings.LastIndex(live, ":")] + ":1; of this function they name " +
			live, `under "functions" of the stage in patchbay.json`,
	}, "tool", "publish", write(t, strings.Replace(string(text), "local:order_status",
		live[:strings.LastIndex(live, ":")]+":1", 1)), "--source", "shop-team", "--yes")
	wantAudit(t, o, `"tool publish","on":"shop-team","details":{"changes":"+order_status","snapshot":"`)

	elsewhere := *o
	elsewhere.flags = []string{"--deployment", "other-prod", "--region", motoserver.Region}
	elsewhere.refused(t, []string{"no such deployment"}, "tool", "publish", order, "--source", "shop-team", "--yes")
}

// legacyOnAWS makes the function with an alias in moto, and returns the alias's ARN.
func legacyOnAWS(t *testing.T, config aws.Config) string {
	t.Helper()
	role, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("legacy"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	client, name := lambda.NewFromConfig(config), aws.String("order-status")
	_, err = client.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: name, Role: role.Role.Arn, Runtime: lambdatypes.RuntimePython313, Publish: true,
		Handler: aws.String("lambda_function.lambda_handler"), Timeout: aws.Int32(3),
		Code: &lambdatypes.FunctionCode{ZipFile: zipped(t, "code")},
	})
	if err != nil {
		t.Fatal(err)
	}
	alias, err := client.CreateAlias(t.Context(), &lambda.CreateAliasInput{
		FunctionName: name, Name: aws.String("live"), FunctionVersion: aws.String("1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(alias.AliasArn)
}

// hostRegistrar runs the deployment's registrar, its real program, since moto runs no code without Docker: what is sent
// to Lambda goes there when it is for the registrar, and to moto when it is not.
func hostRegistrar(t *testing.T, o *operator, existing string) {
	t.Helper()
	programs := dataOf("programs")
	err := build.Go(t.Context(), build.GoOptions{
		ModuleDir: root, OutDir: programs, Incremental: true, Packages: []string{"./dispatcher/registrar"},
	})
	if err != nil {
		t.Fatal(err)
	}
	moto := aws.ToString(o.config.BaseEndpoint)
	log := &logLines{}
	service := locallambda.New(locallambda.Options{
		Account: motoserver.Account, Log: func(function, _ string, line []byte) { log.add(function, line) },
	})
	t.Cleanup(service.Close)
	const registrar = deployed + "-registrar"
	_, err = service.Deploy(locallambda.Function{
		Name: registrar, Dir: filepath.Join(programs, "registrar"), Timeout: time.Minute, MemoryMB: 256,
		Env: map[string]string{
			"PATCHBAY_TABLE": o.registry, "PATCHBAY_MAX_CALL_SECONDS": "60", "PATCHBAY_DEPLOYMENT": deployed,
			"PATCHBAY_EXISTING": existing, "AWS_ENDPOINT_URL_DYNAMODB": moto, "AWS_ENDPOINT_URL_LAMBDA": moto,
		},
	})
	if err == nil {
		err = service.Alias(registrar, "operators", "1")
	}
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(moto)
	if err != nil {
		t.Fatal(err)
	}
	other := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/functions/"+registrar) {
			service.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	o.env = append(o.env, "AWS_ENDPOINT_URL_LAMBDA="+proxy.URL)
}
