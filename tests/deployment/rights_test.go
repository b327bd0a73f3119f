package deployment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/iamsim"
	"patchbay/infra/cdk/rights"
)

// The template's own policies, before anything is deployed: of the roles, and of the people who are woken.
func TestRightsOfTheExamples(t *testing.T) {
	t.Parallel()
	checkExamples(t, t, examples(t))
}

// checkExamples asks about the stack and tells to.
func checkExamples(t *testing.T, to rights.T, stack *assembly.Stack) {
	t.Helper()
	roles, err := iamsim.Roles(stack)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &rights.Deployment{
		Stage: examplesStage(t), Stack: stack, Roles: roles, Tools: exampleTools(t),
		Existing: []string{"arn:aws:lambda:eu-west-1:123456789012:function:shipping-quote:live"},
		Account:  account, Region: region,
	}
	deployment.Check(to)
	deployment.CheckOperators(to)
}

// A right that is missing or too wide, in whichever policy, is found.
func TestWrongRightsAreFound(t *testing.T) {
	t.Parallel()
	whole := examples(t) // skips, or synthesizes
	for name, test := range map[string]struct {
		// old is replaced by fresh wherever it stands in the templates' JSON, without white space; says is told then.
		old, fresh, says string
	}{
		"every function may be invoked": {`:function:patchbay-examples-tool-*:*"`, `:function:*"`,
			"lambda:InvokeFunction on arn:aws:lambda:eu-west-1:123456789012:function:patchbay-examples-registrar is allowed"},
		"no version may be invoked": {`:function:patchbay-examples-tool-*:*"`, `:function:patchbay-examples-tool-*"`,
			"is allowed"},
		"rows of everybody": {`"state#baskets#*"`, `"state#*"`, "state#somebody_elses"},
		"requests without keys": {`"Null":{"dynamodb:LeadingKeys":"false"}`, `"Null":{"dynamodb:LeadingKeys":"true"}`,
			"dynamodb:GetItem"},
		"every secret":      {`:secret:patchbay-examples/tools/tracker_api_token-??????"`, `:secret:*"`, "somebody-elses"},
		"no secret":         {`:secret:patchbay-examples/tools/tracker_api_token-??????"`, `:secret:x"`, "tracker_api_token"},
		"a missing action":  {`"dynamodb:UpdateItem"`, `"dynamodb:DescribeTable"`, "dynamodb:UpdateItem"},
		"every action":      {`"dynamodb:Query"`, `"dynamodb:*"`, "dynamodb:DeleteTable"},
		"by hand, too":      {`"aws:CalledVia"`, `"aws:CalledViaFirst"`, "lambda:InvokeFunction"},
		"foreign functions": {`"lambda:DeleteFunction"`, `"lambda:*"`, "lambda:UpdateFunctionCode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := assembly.Open(dirOf("examples"), place)
			if err != nil {
				t.Fatal(err)
			}
			stack, err := a.Stack(whole.Name)
			if err != nil {
				t.Fatal(err)
			}
			if mutate(t, stack, test.old, test.fresh) == 0 {
				t.Fatalf("no template has %s", test.old)
			}
			told := &recorder{}
			checkExamples(t, told, stack)
			if !strings.Contains(strings.Join(told.lines, "\n"), test.says) {
				t.Errorf("%d faults are told, none of which says %q", len(told.lines), test.says)
			}
		})
	}
}

// mutate replaces a text in a stack's template and in those nested in it, and returns how often.
func mutate(t *testing.T, stack *assembly.Stack, old, fresh string) int {
	t.Helper()
	data, err := json.Marshal(stack.Template)
	if err != nil {
		t.Fatal(err)
	}
	count := strings.Count(string(data), old)
	stack.Template = nil
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), old, fresh)), &stack.Template); err != nil {
		t.Fatal(err)
	}
	for _, nested := range stack.Nested() {
		count += mutate(t, nested, old, fresh)
	}
	return count
}

// recorder keeps what a test would have told.
type recorder struct{ lines []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatal(args ...any) { r.lines = append(r.lines, fmt.Sprint(args...)) }
