package contract

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"patchbay/shared/mcp"
	"patchbay/shared/schema"
)

func readFile(t testing.TB, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mustParse parses a tool.json that has no errors; warnings are allowed.
func mustParse(t testing.TB, data []byte) *Tool {
	t.Helper()
	tool, problems := Parse("tool.json", data)
	if tool == nil {
		t.Fatalf("the tool has errors:\n%s", problems.Error())
	}
	return tool
}

// small is a tool that says nothing but what it must; member is put in front.
func small(member string) []byte {
	return []byte(`{` + member + `"name":"ping_host","description":"Says whether a host answers.",` +
		`"inputSchema":{"type":"object","additionalProperties":false}}`)
}

func TestParseFillsInDefaults(t *testing.T) {
	t.Parallel()
	tool, problems := Parse("tool.json", small(""))
	if len(problems) != 0 {
		t.Fatalf("unexpected problems:\n%s", problems.Error())
	}
	want := Contract{
		Risk:           RiskLow,
		Autonomous:     true,
		Confirmation:   ConfirmationNever,
		Visibility:     VisibilityAlways,
		Idempotency:    Idempotency{Mode: IdempotencyNone},
		DryRun:         DryRunNone,
		MaxResultBytes: 6 << 20,
		Execution:      Execution{TimeoutSeconds: 10, MemoryMB: 128, Network: NetworkInternet},
		Function:       Function{Payload: PayloadEnvelope, Runtime: RuntimeGo},
	}
	if diff := cmp.Diff(want, tool.Contract); diff != "" {
		t.Errorf("contract (-want +got):\n%s", diff)
	}
	if tool.Output != nil {
		t.Errorf("Output = %s, want nil", tool.Output)
	}
	if s, err := tool.OutputSchema(); s != nil || err != nil {
		t.Errorf("OutputSchema() = %v, %v, want nil, nil", s, err)
	}
}

// What a field is when it is omitted depends on others in these cases.
func TestParseFillsInWhatFollows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		contract string
		check    func(Contract) bool
	}{
		"high risk is confirmed": {`{"risk":"high"}`,
			func(c Contract) bool { return c.Confirmation == ConfirmationAlways && !c.Autonomous }},
		"critical risk is confirmed": {`{"risk":"critical"}`,
			func(c Contract) bool { return c.Confirmation == ConfirmationAlways && !c.Autonomous }},
		"medium risk is not confirmed, but audited": {`{"risk":"medium"}`,
			func(c Contract) bool { return c.Confirmation == ConfirmationNever && c.AuditEvent == "ping_host" }},
		"an audit event keeps its name": {`{"risk":"high","auditEvent":"ping"}`,
			func(c Contract) bool { return c.AuditEvent == "ping" }},
		"what is not autonomous is confirmed": {`{"autonomous":false}`,
			func(c Contract) bool { return c.Confirmation == ConfirmationAlways }},
		"what is confirmed is not autonomous": {`{"confirmation":"always"}`,
			func(c Contract) bool { return !c.Autonomous }},
		"recorded calls": {`{"idempotency":{"mode":"arguments"}}`, func(c Contract) bool {
			return c.Idempotency == Idempotency{Mode: IdempotencyArguments, WhenAbsent: WhenAbsentRun, TTL: "24h"} &&
				c.MaxResultBytes == 256<<10
		}},
		"a failure's effect is unknown": {`{"failureModes":[{"code":"gone","description":"It is gone."}]}`,
			func(c Contract) bool { return c.FailureModes[0].Effect == EffectUnknown }},
		"an existing function has no runtime": {`{"function":{"arn":"local:ping"}}`, func(c Contract) bool {
			name, local := c.Function.Local()
			return c.Function.Runtime == "" && c.Function.Payload == PayloadEnvelope && name == "ping" && local
		}},
		"part of execution": {`{"execution":{"memoryMB":512}}`,
			func(c Contract) bool { return c.Execution.MemoryMB == 512 && c.Execution.TimeoutSeconds == 10 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := mustParse(t, small(`"contract":`+test.contract+`,`))
			if !test.check(tool.Contract) {
				t.Errorf("contract = %+v", tool.Contract)
			}
		})
	}
}

// Every field that an author can write, read into the field that the dispatcher reads.
func TestParseReadsEveryField(t *testing.T) {
	t.Parallel()
	tool, problems := Parse("tool.json", readFile(t, "testdata", "good", "everything.json"))
	if len(problems) != 0 {
		t.Fatalf("unexpected problems:\n%s", problems.Error())
	}
	no := false
	want := &Tool{
		File:        "tool.json",
		Name:        "send_notice",
		Title:       "Send a notice",
		Description: "Sends a notice to everyone in a group & returns its id <b>unescaped</b>.",
		Annotations: mcp.ToolAnnotations{Title: "Send", ReadOnlyHint: &no, DestructiveHint: &no, IdempotentHint: &no,
			OpenWorldHint: &no},
		Contract: everything(),
		HeaderParams: []HeaderParam{
			{Header: "Mcp-Param-Group", Path: []string{"group"}, Type: "string"},
			{Header: "Mcp-Param-Priority", Path: []string{"options", "priority"}, Type: "integer"},
			{Header: "Mcp-Param-Urgent", Path: []string{"options", "urgent"}, Type: "boolean"},
		},
	}
	ignore := cmpopts.IgnoreFields(Tool{}, "Definition", "Input", "Output")
	if diff := cmp.Diff(want, tool, ignore, cmpopts.IgnoreUnexported(Tool{})); diff != "" {
		t.Errorf("tool (-want +got):\n%s", diff)
	}
	wantDefinition := strings.TrimSuffix(string(readFile(t, "testdata", "good", "everything.definition.json")), "\n")
	if diff := cmp.Diff(wantDefinition, string(tool.Definition)); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func everything() Contract {
	return Contract{
		Category:     "messages",
		Example:      true,
		Risk:         RiskHigh,
		Autonomous:   false,
		Confirmation: ConfirmationAlways,
		StepUp:       &StepUp{ACR: "urn:example:mfa", MaxAgeSeconds: 300},
		Permissions:  []string{"notices:send", "groups.read"},
		Visibility:   VisibilityPermitted,
		SideEffects:  []string{"Everyone in the group gets a message.", "A repeat sends it again."},
		AuditEvent:   "notice.sent",
		FailureModes: []FailureMode{
			{Code: "unknown_group", Description: "There is no such group; list the groups.", Effect: EffectNone},
			{Code: "relay_down", Description: "The relay did not answer.", Effect: EffectUnknown},
		},
		Idempotency: Idempotency{Mode: IdempotencyKey, KeyArgument: "request_id", WhenAbsent: WhenAbsentRefuse,
			TTL: "30d"},
		DryRun:         DryRunRequired,
		RateLimit:      &RateLimit{Calls: 5, PerSeconds: 60},
		MaxResultBytes: 4096,
		Execution: Execution{TimeoutSeconds: 20, MemoryMB: 256, Concurrency: 3, Streaming: true,
			Network: NetworkVPC},
		Function: Function{
			Payload:     PayloadEnvelope,
			Runtime:     RuntimePython,
			Handler:     "main.handler",
			Build:       []string{"pip", "install", "--target", "build", "."},
			Environment: map[string]string{"RELAY_URL": "https://relay.example.com"},
			Secrets:     []string{"relay_password"},
			State:       []string{"drafts"},
		},
	}
}

// The catalogue stores a definition and a contract, and must get back what was published.
func TestDecodeReadsWhatParseMade(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"everything": readFile(t, "testdata", "good", "everything.json"),
		"small":      small(""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed := mustParse(t, data)
			stored, err := json.Marshal(parsed.Contract)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := Decode(parsed.Definition, stored)
			if err != nil {
				t.Fatal(err)
			}
			ignore := cmpopts.IgnoreFields(Tool{}, "File", "Input", "Output")
			if diff := cmp.Diff(parsed, decoded, ignore, cmpopts.IgnoreUnexported(Tool{})); diff != "" {
				t.Errorf("decoded (-parsed +decoded):\n%s", diff)
			}
			if input, err := decoded.InputSchema(); err != nil || input == nil {
				t.Errorf("InputSchema() = %v, %v", input, err)
			}
		})
	}
}

// A contract stored by a release that knew fewer fields gets their defaults; one of a later release loses what is not
// known here.
func TestDecodeOfAnotherRelease(t *testing.T) {
	t.Parallel()
	definition := mustParse(t, small("")).Definition
	tool, err := Decode(definition, json.RawMessage(`{"risk":"medium","telepathy":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := tool.Contract; got.Risk != RiskMedium || got.Execution.TimeoutSeconds != 10 {
		t.Errorf("contract = %+v", got)
	}
}

func TestDecodeNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ definition, contract, want string }{
		"definition": {`{"name":`, `{}`, "decoding a stored tool definition: "},
		"contract":   {`{"name":"ping_host"}`, `[]`, "decoding the stored contract of ping_host: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, err := Decode(json.RawMessage(test.definition), json.RawMessage(test.contract))
			if tool != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Decode = %v, %v; want an error that begins with %q", tool, err, test.want)
			}
		})
	}
}

func TestDefinitionIsAsWritten(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, want string }{
		"lines of Windows": {
			"{\r\n\t\"name\": \"ping_host\",\r\n\t\"description\": \"Says whether a host answers.\",\r\n" +
				"\t\"inputSchema\": {\"type\": \"object\",\r\n\"additionalProperties\": false}\r\n}\r\n",
			string(small("")),
		},
		"contract first": {string(small(`"contract":{},`)), string(small(""))},
		"numbers": {string(small(`"_meta":{"n":[1.0,1e2,-0,12345678901234567890]},`)),
			string(small(`"_meta":{"n":[1.0,1e2,-0,12345678901234567890]},`))},
		"escapes": {string(small(`"title":"\u0041\/\ud83d\ude00<&>` + "\u2028" + `",`)),
			string(small(`"title":"\u0041\/\ud83d\ude00<&>` + "\u2028" + `",`))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := mustParse(t, []byte(test.file))
			if diff := cmp.Diff(test.want, string(tool.Definition)); diff != "" {
				t.Errorf("definition (-want +got):\n%s", diff)
			}
		})
	}
}

// One run over a file finds everything, whatever kind of fault it is.
func TestParseReportsEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	_, problems := Parse("functions/x/tool.json", []byte(`{
		"name": "a b", "titel": "A", "inputSchema": {"type": "array", "type": "object", "properties": {"a": {}}},
		"annotations": {"readOnlyHint": 1}, "contract": {"risk": "huge", "execution": {"memoryMB": 1}}}`))
	got := make([]string, len(problems))
	for i, p := range problems {
		got[i] = p.Pointer + " " + p.ID
	}
	want := []string{
		"/annotations/readOnlyHint wrong-type",
		"/contract/execution/memoryMB number-range",
		"/contract/risk wrong-value",
		"/description description-missing",
		"/inputSchema additional-properties",
		"/inputSchema/properties/a parameter-description",
		"/inputSchema/type duplicate-key",
		"/inputSchema/type input-schema-type",
		"/name name-charset",
		"/titel unknown-field",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if lines := strings.Split(problems.Error(), "\n"); len(lines) != len(want) {
		t.Errorf("Error() has %d lines, want %d:\n%s", len(lines), len(want), problems.Error())
	}
	if problems.Err() == nil {
		t.Error("Err() = nil, want the errors")
	}
}

func TestWarningsAreNoFailure(t *testing.T) {
	t.Parallel()
	tool, problems := Parse("tool.json", readFile(t, "testdata", "bad", "name-model-api", "tool.json"))
	if tool == nil || len(problems) != 1 || problems.Err() != nil {
		t.Fatalf("Parse = %v, %v; want a tool and one warning", tool, problems)
	}
	if len(problems.Warnings()) != 1 || len(problems.Errors()) != 0 {
		t.Errorf("Warnings() = %v, Errors() = %v", problems.Warnings(), problems.Errors())
	}
}

// Whatever the bytes are, Parse ends with a tool or with errors, and a tool survives its stored form.
func FuzzParse(f *testing.F) {
	f.Add(small(""))
	f.Add(small(`"contract":{"risk":"high"},`))
	f.Add(readFile(f, "testdata", "good", "everything.json"))
	f.Add([]byte(`{"a":"\ud800","b":[{},[1e5]],"a":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tool, problems := Parse("tool.json", data)
		if (tool == nil) != (problems.Err() != nil) {
			t.Fatalf("tool = %v, problems = %v", tool, problems)
		}
		if tool == nil {
			return
		}
		stored, err := json.Marshal(tool.Contract)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(tool.Definition, stored)
		if err != nil {
			t.Fatal(err)
		}
		ignore := cmpopts.IgnoreFields(Tool{}, "File", "Input", "Output")
		if diff := cmp.Diff(tool, decoded, ignore, cmpopts.IgnoreUnexported(Tool{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("stored form of %q (-parsed +decoded):\n%s", data, diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, data := range map[string][]byte{
		"small":      small(""),
		"everything": readFile(b, "testdata", "good", "everything.json"),
	} {
		b.Run(name, func(b *testing.B) {
			tool := mustParse(b, data)
			stored, err := json.Marshal(tool.Contract)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(tool.Definition, stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	data := readFile(b, "testdata", "good", "everything.json")
	b.ReportAllocs()
	for b.Loop() {
		if tool, problems := Parse("tool.json", data); tool == nil {
			b.Fatal(problems.Error())
		}
	}
}

// Schemas are compiled by whoever needs them first, whichever goroutine that is, and everyone gets the same ones.
func TestSchemasAreCompiledOnce(t *testing.T) {
	t.Parallel()
	parsed := mustParse(t, readFile(t, "testdata", "good", "everything.json"))
	tool, err := Decode(parsed.Definition, json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	inputs, outputs := make([]*schema.Schema, 8), make([]*schema.Schema, 8)
	for i := range inputs {
		group.Go(func() {
			inputs[i], _ = tool.InputSchema()
			outputs[i], _ = tool.OutputSchema()
		})
	}
	group.Wait()
	for i := range inputs {
		if inputs[i] == nil || inputs[i] != inputs[0] || outputs[i] == nil || outputs[i] != outputs[0] {
			t.Fatalf("goroutine %d got other schemas: %p %p, not %p %p", i, inputs[i], outputs[i], inputs[0], outputs[0])
		}
	}
	if err := inputs[0].Validate(json.RawMessage(`{"group":1,"text":"Hello"}`)); err == nil ||
		!strings.Contains(err.Error(), "group") {
		t.Errorf("arguments of the wrong type: %v", err)
	}
	if err := outputs[0].Validate(json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Error(), "result") {
		t.Errorf("a result of the wrong type: %v", err)
	}
}

func TestInvalidSchemaIsAnError(t *testing.T) {
	t.Parallel()
	tool := &Tool{Input: json.RawMessage(`{"type":"nothing"}`), Output: json.RawMessage(`{"type":"nothing"}`)}
	if s, err := tool.InputSchema(); s != nil || err == nil {
		t.Errorf("InputSchema() = %v, %v; want an error", s, err)
	}
	if s, err := tool.OutputSchema(); s != nil || err == nil {
		t.Errorf("OutputSchema() = %v, %v; want an error", s, err)
	}
}
