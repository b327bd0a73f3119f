package integration

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/scripts/localdb"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/scripts/motoserver"
	"patchbay/scripts/motoserver/motoservertest"
	"patchbay/shared/contract"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// operator runs levers, as the program that people run, on one target.
type operator struct {
	program string
	flags   []string
	env     []string
	// config is that of the deployment's services; zero on the local stack.
	config aws.Config

	db             *dynamodb.Client
	registry, book string // tables
	// versions are two function versions that exist, and gone is one that does not.
	versions [2]string
	gone     string
	// audit returns the audit log.
	audit func(t *testing.T) string
}

func (o *operator) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), o.program, append(args, o.flags...)...)
	command.Env = append(os.Environ(), o.env...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// must runs a lever that has to succeed, and returns what it printed.
func (o *operator) must(t *testing.T, args ...string) string {
	t.Helper()
	output, err := o.run(t, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// refused runs a lever that has to fail and to say these things.
func (o *operator) refused(t *testing.T, says []string, args ...string) {
	t.Helper()
	output, err := o.run(t, args...)
	if err == nil {
		t.Errorf("%s: succeeded:\n%s", strings.Join(args, " "), output)
	}
	for _, part := range says {
		if !strings.Contains(output, part) {
			t.Errorf("%s: does not say %q: %s", strings.Join(args, " "), part, output)
		}
	}
}

// localOperator acts on the stack of the fixtures.
func localOperator(t *testing.T, program string) *operator {
	t.Helper()
	data := dataOf("fixtures")
	var versions [2]string
	for i := range versions {
		arn, err := fixtures.Lambda().Deploy(locallambda.Function{
			Name: "levers_probe", Dir: filepath.Join(data, "build", "misbehave"),
		})
		if err != nil {
			t.Fatal(err)
		}
		versions[i] = arn
	}
	return &operator{
		program: program, flags: []string{"--data", data},
		db: localdb.Client(fixtures.DatabaseURL), registry: localstack.Table, book: localstack.LedgerTable,
		versions: versions, gone: versions[0] + "999",
		audit: func(t *testing.T) string {
			t.Helper()
			content, err := os.ReadFile(filepath.Join(data, "operators.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			return string(content)
		},
	}
}

const deployed = "shop-prod"

// deployedOperator acts on what a deployment leaves in moto: its tables, its log groups, two versions of a function.
func deployedOperator(t *testing.T, program string) (*operator, *cloudwatchlogs.Client) {
	t.Helper()
	moto := motoservertest.Start(t, os.Getenv, motoserver.Options{})
	config := moto.Config()
	db, logs := dynamodb.NewFromConfig(config), cloudwatchlogs.NewFromConfig(config)
	o := &operator{
		program: program, flags: []string{"--deployment", deployed, "--region", motoserver.Region},
		env: []string{
			"AWS_ENDPOINT_URL=" + moto.URL, "AWS_ACCESS_KEY_ID=operator", "AWS_SECRET_ACCESS_KEY=x",
			"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		},
		config: config, db: db, registry: deployed + "-registry", book: deployed + "-ledger",
		versions: deployVersions(t, config), audit: func(t *testing.T) string { return logged(t, logs, operatorsLog) },
	}
	o.gone = o.versions[0] + "999"
	if err := registry.CreateTable(t.Context(), db, o.registry); err != nil {
		t.Fatal(err)
	}
	if err := ledger.CreateTable(t.Context(), db, o.book); err != nil {
		t.Fatal(err)
	}
	createGroup(t, logs, operatorsLog)
	return o, logs
}

const operatorsLog = "/patchbay/" + deployed + "/operators"

func createGroup(t *testing.T, logs *cloudwatchlogs.Client, group string) {
	t.Helper()
	input := &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String(group)}
	if _, err := logs.CreateLogGroup(t.Context(), input); err != nil {
		t.Fatal(err)
	}
}

// logged returns all messages of a log group.
func logged(t *testing.T, logs *cloudwatchlogs.Client, group string) string {
	t.Helper()
	out, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String(group)})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, event := range out.Events {
		all.WriteString(aws.ToString(event.Message) + "\n")
	}
	return all.String()
}

// deployVersions makes a function with two versions.
func deployVersions(t *testing.T, config aws.Config) (arns [2]string) {
	t.Helper()
	role, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("probe"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := lambda.NewFromConfig(config)
	name := aws.String(deployed + "-tool-probe-01234567")
	for i := range arns {
		code := zipped(t, fmt.Sprint("version ", i))
		if i == 0 {
			_, err = client.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
				FunctionName: name, Role: role.Role.Arn, Runtime: lambdatypes.RuntimeProvidedal2023,
				Handler: aws.String("bootstrap"), Code: &lambdatypes.FunctionCode{ZipFile: code},
			})
		} else {
			_, err = client.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: name, ZipFile: code})
		}
		if err != nil {
			t.Fatal(err)
		}
		version, err := client.PublishVersion(t.Context(), &lambda.PublishVersionInput{FunctionName: name})
		if err != nil {
			t.Fatal(err)
		}
		arns[i] = aws.ToString(version.FunctionArn)
	}
	return arns
}

func zipped(t *testing.T, content string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	file, err := archive.Create("bootstrap")
	if err == nil {
		_, err = file.Write([]byte(content))
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// The levers do the same on the local stack and on a deployment, and each leaves its two audit records.
//
// The tests of this function run before all parallel ones go on, which would see their tool in the lists.
func TestLevers(t *testing.T) {
	patchbay := program(t)
	t.Run("local", func(t *testing.T) { testLevers(t, localOperator(t, patchbay)) })
	t.Run("deployed", func(t *testing.T) {
		o, _ := deployedOperator(t, patchbay)
		testLevers(t, o)
	})
}

func testLevers(t *testing.T, o *operator) {
	t.Helper()
	t.Run("tool", func(t *testing.T) { testToolLever(t, o) })
	t.Run("catalogue", func(t *testing.T) { testCatalogueLever(t, o) })
	t.Run("ledger", func(t *testing.T) { testLedgerLever(t, o) })
}

// publish makes the tool levers_probe live, under a source of its own.
func publish(t *testing.T, o *operator, function string) string {
	t.Helper()
	return publishWith(t, o, function, "")
}

// publishWith adds members to the tool's contract.
func publishWith(t *testing.T, o *operator, function, members string) string {
	t.Helper()
	tool, problems := contract.Parse("levers_probe/tool.json", []byte(`{"name":"levers_probe",`+
		`"description":"Stands in the catalogue for the tests of levers.","inputSchema":{"type":"object",`+
		`"properties":{},"additionalProperties":false},`+
		`"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false},`+
		`"contract":{"category":"fixture","risk":"low","function":{"runtime":"go"}`+members+`}}`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	publisher := registry.NewPublisher(o.db, o.registry, registry.PublisherOptions{})
	receipt, err := publisher.Publish(t.Context(), "levers", []registry.Publication{{Tool: tool, Function: function}})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Snapshot
}

// listedNow reports whether a new reader of the catalogue finds the tool, as every instance does within ten seconds.
func listedNow(t *testing.T, o *operator) bool {
	t.Helper()
	_, err := registry.NewReader(o.db, o.registry, registry.ReaderOptions{}).Lookup(t.Context(), "levers_probe")
	return err == nil
}

func testToolLever(t *testing.T, o *operator) {
	publish(t, o, o.versions[0])
	t.Cleanup(func() { withdraw(t, o) })
	o.must(t, "tool", "disable", "levers_probe")
	if listedNow(t, o) {
		t.Error("a disabled tool is found")
	}
	o.must(t, "tool", "enable", "levers_probe")
	if !listedNow(t, o) {
		t.Error("an enabled tool is not found")
	}
	for _, use := range []string{"disable", "enable"} {
		o.refused(t, []string{"unknown tool", "did you mean levers_probe?"}, "tool", use, "levers_prob")
		o.refused(t, []string{"unknown tool", "catalogue show"}, "tool", use, "xyzzy")
	}
	wantAudit(t, o, `"tool disable","on":"levers_probe","outcome":"attempt"`,
		`"tool disable","on":"levers_probe","outcome":"done"`, `"tool disable","on":"levers_prob","outcome":"failed"`)
}

func withdraw(t *testing.T, o *operator) {
	t.Helper()
	publisher := registry.NewPublisher(o.db, o.registry, registry.PublisherOptions{})
	// The test's own context has ended.
	if err := publisher.Withdraw(context.Background(), "levers"); err != nil {
		t.Error(err)
	}
}

func wantAudit(t *testing.T, o *operator, parts ...string) {
	t.Helper()
	log := o.audit(t)
	for _, part := range parts {
		if !strings.Contains(log, part) {
			t.Errorf("the audit log does not have %s:\n%s", part, log)
		}
	}
}

func testCatalogueLever(t *testing.T, o *operator) {
	t.Cleanup(func() { withdraw(t, o) })
	lost := publish(t, o, o.gone)
	first := publish(t, o, o.versions[0])
	publish(t, o, o.versions[1])
	var shown struct {
		Sources []struct {
			Source string
			Live   struct{ Functions map[string]string }
			Kept   []struct{ ID string }
		}
	}
	decode(t, o.must(t, "catalogue", "show", "levers", "--json"), &shown)
	if len(shown.Sources) != 1 || shown.Sources[0].Live.Functions["levers_probe"] != o.versions[1] {
		t.Fatalf("shown %+v", shown)
	}
	if text := o.must(t, "catalogue", "show"); !strings.Contains(text, "kept "+first) {
		t.Errorf("the first snapshot is not among those that are kept:\n%s", text)
	}
	o.refused(t, []string{"not confirmed"}, "catalogue", "rollback", "levers", first)
	o.refused(t, []string{o.gone, "nothing was changed"}, "catalogue", "rollback", "levers", lost, "--yes")
	o.refused(t, []string{"no snapshot never"}, "catalogue", "rollback", "levers", "never", "--yes")
	o.refused(t, []string{"there are: ", "levers"}, "catalogue", "rollback", "elsewhere", "--yes")
	if said := o.must(t, "catalogue", "rollback", "levers", first, "--yes"); !strings.Contains(said, "~ levers_probe") {
		t.Errorf("does not say what changes: %s", said)
	}
	entry, err := registry.NewReader(o.db, o.registry, registry.ReaderOptions{}).Lookup(t.Context(), "levers_probe")
	if err != nil || entry.Function != o.versions[0] {
		t.Errorf("after the rollback: %+v, %v", entry, err)
	}
	wantAudit(t, o, `"snapshot":"`+first+`"},"outcome":"done"`, `"catalogue rollback","on":"levers"`)

	o.refused(t, []string{"- levers_probe", "not confirmed"}, "catalogue", "withdraw", "levers")
	if said := o.must(t, "catalogue", "withdraw", "levers", "--yes"); !strings.Contains(said, "tools withdrawn: 1;") {
		t.Errorf("does not say what it did: %s", said)
	}
	if listedNow(t, o) {
		t.Error("a withdrawn tool is found")
	}
	o.refused(t, []string{"withdrawn already"}, "catalogue", "withdraw", "levers", "--yes")
	wantAudit(t, o, `"catalogue withdraw","on":"levers"`)
}

func decode(t *testing.T, text string, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func testLedgerLever(t *testing.T, o *operator) {
	book := ledger.New(o.db, o.book, ledger.Options{})
	const who, tool = "0::sub:ada", "levers_probe"
	unknown := func(key string) ledger.ID {
		id := ledger.NewID(who, tool, ledger.CallerKey(key))
		call := ledger.Call{ID: id, Timeout: time.Second, TTL: time.Hour, Audit: []byte(`{"event":"probe.sent"}`)}
		lease, _, err := book.Acquire(t.Context(), call)
		if err == nil {
			err = lease.Fail(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	key := "order " + t.Name() + time.Now().String()
	id := unknown(key)
	if text := o.must(t, "ledger", "show", id.String()); !strings.Contains(text, "probe.sent") ||
		!strings.Contains(text, "ledger resolve") {
		t.Errorf("shown by its id: %s", text)
	}
	var entry struct{ ID, State string }
	decode(t, o.must(t, "ledger", "show", key, "--tool", tool, "--principal", who, "--json"), &entry)
	if entry.ID != id.String() || entry.State != "unknown" {
		t.Errorf("shown by its key: %+v", entry)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	write := func(content string) {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"text":"Sent."}`)
	o.refused(t, []string{`has no "content"`}, "ledger", "resolve", id.String(), "--result", file)
	write(`{"content":[{"type":"text","text":"Sent."}]}`)
	o.must(t, "ledger", "resolve", id.String(), "--result", file)
	if record, err := book.Read(t.Context(), id, ledger.Query{}); err != nil || record.Status != ledger.Completed ||
		!strings.Contains(string(record.Result), "Sent.") {
		t.Errorf("resolved to %+v, %v", record, err)
	}
	o.refused(t, []string{"not unknown", "completed"}, "ledger", "resolve", id.String(), "--free")
	other := unknown(key + "2")
	o.must(t, "ledger", "resolve", other.String(), "--free")
	o.refused(t, []string{"no record"}, "ledger", "show", other.String())
	o.refused(t, []string{"64 hexadecimal digits", "--tool"}, "ledger", "show", key)
	testAbsentRecords(t, o)
	wantAudit(t, o, `"ledger resolve","on":"`+id.String()+`","details":{"to":"result"},"outcome":"done"`,
		`"ledger resolve","on":"`+other.String()+`","details":{"to":"free"},"outcome":"done"`)
	if strings.Contains(o.audit(t), "Sent.") {
		t.Error("the audit log holds a result")
	}
}

// That there is no record says nothing of a call, when what was asked for is not what calls are recorded by.
func testAbsentRecords(t *testing.T, o *operator) {
	t.Helper()
	t.Cleanup(func() { withdraw(t, o) })
	for rules, says := range map[string]string{
		`,"idempotency":{"mode":"key"}`:       "a call of levers_probe by 0::sub:ada with this key runs",
		`,"idempotency":{"mode":"arguments"}`: "this tool's key is made of its arguments",
		`,"confirmation":"always"`:            "recorded by its confirmation",
		``:                                    "keeps no records",
	} {
		publishWith(t, o, o.versions[0], rules)
		o.refused(t, []string{says}, "ledger", "show", "none", "--tool", "levers_probe", "--principal", "0::sub:ada")
	}
	o.refused(t, []string{"did you mean levers_probe?"}, "ledger", "show", "none", "--tool", "levers_prob")
	o.refused(t, []string{"did you mean levers_probe?", "not unknown"},
		"ledger", "resolve", "none", "--free", "--tool", "levers_prob")
	o.refused(t, []string{`principal "ada"`, "allowed: anonymous, or <length of the issuer>"},
		"ledger", "show", "none", "--tool", "levers_probe", "--principal", "ada")
}

// A call's lines are found by the id that its answer names: the gateway's, the dispatcher's, the tool's, also those of
// a crash, which know no id.
func TestCallsOnTheLocalStack(t *testing.T) {
	t.Parallel()
	o := localOperator(t, program(t))
	response := post(t, fixtures.URL, "tools/call", "misbehave", callParams("misbehave", `{"mode":"exit"}`))
	id := response.Header.Get("X-Amzn-Requestid")
	readAnswer(t, response)
	text := o.must(t, "calls", id)
	for _, part := range []string{"gateway ", "httpMethod=POST", "dispatcher ", "outcome=tool_crash", "misbehave ",
		"Runtime exited with error"} {
		if !strings.Contains(text, part) {
			t.Errorf("does not have %q:\n%s", part, text)
		}
	}
	var lines []struct {
		Time    time.Time
		Group   string
		Message string
	}
	decode(t, o.must(t, "calls", id, "--json"), &lines)
	for i, line := range lines {
		if i > 0 && line.Time.Before(lines[i-1].Time) {
			t.Errorf("line %d is out of order", i)
		}
		if strings.HasPrefix(line.Message, "START") && line.Group == "/aws/apigateway/local" {
			t.Errorf("line %d is %+v", i, line)
		}
	}
	o.refused(t, []string{"no line", "--since"}, "calls", "00000000-0000-0000-0000-000000000000")
	o.refused(t, []string{"request id"}, "calls", `" ?x`)
	o.refused(t, []string{"--since"}, "calls", id, "--since", "10000h")
}

// What CloudWatch Logs holds of three requests, two of them by one instance, is told apart.
func TestCallsOnADeployment(t *testing.T) {
	t.Parallel()
	o, logs := deployedOperator(t, program(t))
	const id, other = "11111111-aaaa-4000-8000-000000000001", "22222222-bbbb-4000-8000-000000000002"
	function := o.versions[0]
	now := time.Now()
	put := func(group, stream string, lines ...string) {
		putLines(t, logs, group, stream, now, lines)
	}
	put("/aws/apigateway/"+deployed, "access",
		`{"requestId":"`+other+`","status":200}`, `{"requestId":"`+id+`","httpMethod":"POST","status":200}`)
	put("/aws/lambda/"+deployed+"-dispatcher", "2026/01/01/[1]a",
		"INIT_START Runtime Version: provided:al2023\n",
		"START RequestId: d-1 Version: 3\n", `{"msg":"tools/call","requestId":"`+other+`","function":"`+function+`"}`,
		"END RequestId: d-1\n", "REPORT RequestId: d-1 Duration: 5 ms\n",
		"START RequestId: d-2 Version: 3\n", `{"msg":"tools/call","requestId":"`+id+`","function":"`+function+`"}`,
		"END RequestId: d-2\n", "REPORT RequestId: d-2 Duration: 7 ms\n")
	put("/aws/lambda/"+deployed+"-tool-probe-01234567", "2026/01/01/[1]b",
		"START RequestId: t-2 Version: 1\n", "a line that knows no id\n", `{"msg":"call","requestId":"`+id+`"}`,
		"REPORT RequestId: t-2 Duration: 2 ms\n", "START RequestId: t-3 Version: 1\n", "another call's\n")
	text := o.must(t, "calls", id)
	for _, part := range []string{"httpMethod=POST", "START RequestId: d-2", "REPORT RequestId: d-2",
		"START RequestId: t-2", "a line that knows no id", "REPORT RequestId: t-2"} {
		if !strings.Contains(text, part) {
			t.Errorf("does not have %q:\n%s", part, text)
		}
	}
	for _, part := range []string{other, "d-1", "t-3", "another call's", "INIT_START"} {
		if strings.Contains(text, part) {
			t.Errorf("has %q of another call:\n%s", part, text)
		}
	}
	wantAudit(t, o, `"calls","on":"`+id+`","outcome":"done"`, `"who":"arn:aws:`)
}

// putLines writes the lines of a log stream, a millisecond after each other.
func putLines(
	t *testing.T, logs *cloudwatchlogs.Client, group, stream string, at time.Time, lines []string,
) {
	t.Helper()
	createGroup(t, logs, group)
	input := &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &stream}
	if _, err := logs.CreateLogStream(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	events := make([]logstypes.InputLogEvent, len(lines))
	for i, line := range lines {
		events[i] = logstypes.InputLogEvent{Message: aws.String(line), Timestamp: aws.Int64(at.UnixMilli() + int64(i))}
	}
	_, err := logs.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{
		LogGroupName: &group, LogStreamName: &stream, LogEvents: events,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A key is replaced in three steps, and no step shows one.
func TestKeysOfADeployment(t *testing.T) {
	t.Parallel()
	o, _ := deployedOperator(t, program(t))
	config := o.config
	digits := strings.Repeat("0123456789abcdef", 4)
	secrets := secretsmanager.NewFromConfig(config)
	_, err := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String(deployed + "/seal-keys"), SecretString: aws.String(`{"version":1,"generated":"` + digits + `"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	run := func(args ...string) []string {
		text := o.must(t, append([]string{"keys"}, args...)...)
		said = append(said, text)
		return strings.Split(strings.TrimSpace(text), "\n")
	}
	first := strings.Fields(run("show")[0])[0]
	staged := run("stage")
	if len(staged) != 2 || !strings.Contains(staged[1], "opens only") {
		t.Fatalf("staged %q", staged)
	}
	second := strings.Fields(staged[1])[0]
	if promoted := run("promote", second); !strings.Contains(promoted[1], second+" ") ||
		!strings.Contains(promoted[1], "seals") || !strings.Contains(promoted[0], "opens only") {
		t.Errorf("promoted %q", promoted)
	}
	o.refused(t, []string{second}, "keys", "drop", second)
	if left := run("drop", first); len(left) != 1 || !strings.Contains(left[0], second) {
		t.Errorf("left %q", left)
	}
	ring, err := seal.Stored{Client: secrets, ID: deployed + "/seal-keys"}.Load(t.Context())
	if err != nil || len(ring.Keys) != 1 {
		t.Fatalf("%d keys, %v", len(ring.Keys), err)
	}
	for _, text := range append(said, o.audit(t)) {
		if strings.Contains(text, digits) || strings.Contains(text, hex.EncodeToString(ring.Keys[0].Secret[:])) {
			t.Errorf("shows a key: %s", text)
		}
	}
	wantAudit(t, o, `"keys promote","on":"`+second+`","outcome":"done"`,
		`"keys drop","on":"`+second+`","outcome":"failed"`)
}

// Without its audit record nothing is done, and what is missing is named with where it was looked for.
func TestLeversThatCannotActSaySo(t *testing.T) {
	t.Parallel()
	o, logs := deployedOperator(t, program(t))
	publish(t, o, o.versions[0])
	nowhere := *o
	nowhere.flags = []string{"--deployment", "shop-dev", "--region", motoserver.Region}
	nowhere.refused(t, []string{"no such deployment: shop-dev", "/patchbay/shop-dev/operators", motoserver.Account,
		motoserver.Region, "nothing was done"}, "tool", "disable", "levers_probe")

	group := &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: aws.String(operatorsLog)}
	if _, err := logs.DeleteLogGroup(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	o.refused(t, []string{"nothing was done"}, "tool", "disable", "levers_probe")
	if !listedNow(t, o) {
		t.Error("a tool was disabled without an audit record")
	}
	createGroup(t, logs, operatorsLog)
	if _, err := o.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &o.registry}); err != nil {
		t.Fatal(err)
	}
	o.refused(t, []string{"no such deployment", deployed + "-registry"}, "catalogue", "show")

	misnamed := *o
	misnamed.flags = []string{"--deployment", "Shop"}
	misnamed.refused(t, []string{`"Shop"`, "<server>-<stage>"}, "catalogue", "show")
	placeless := *o
	placeless.flags = []string{"--deployment", deployed}
	placeless.refused(t, []string{"no AWS region"}, "catalogue", "show")
	nobody := *o
	nobody.env = []string{"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true"}
	nobody.refused(t, []string{"no AWS credentials", "--profile"}, "catalogue", "show")
	stackless := &operator{program: o.program, flags: []string{"--data", t.TempDir()}}
	stackless.refused(t, []string{"no local stack is running", "--deployment"}, "catalogue", "show")
}
