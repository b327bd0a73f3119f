package deployment

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/iamsim"
	"patchbay/infra/cdk/rights"
	"patchbay/infra/cdk/settings"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

const teamPrefix = "shopdesk-dev"

// A team deploys its server, updates it, sees an update fail, shares the catalogue with another team, rolls back,
// removes a tool and at last everything: as the README tells it, with the registrar's real program. It is one
// long test, since it is one story.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	w, team := start(t), newTeam(t)
	team.addTool(t, "opening_hours", "from nine to six")

	first := team.release(t, w)
	w.host(t, first, teamPrefix+"-registrar", "registrar", nil)
	server := w.engine(t)
	deploy := func(stack *assembly.Stack) {
		t.Helper()
		if err := server.Deploy(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
	}
	// expect compares the catalogue: the tools, with the versions of their functions.
	expect := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, w.catalogue(t, teamPrefix)); diff != "" {
			t.Fatalf("the catalogue (-want +got)\n%s", diff)
		}
	}

	checkTeamsRights(t, team, first)

	t.Log("Deploy: the catalogue lists every tool, at the version that was just made.")
	deploy(first)
	expect(map[string]string{"quote_price": "1", "opening_hours": "1"})

	t.Log("Update: one tool changes, and nothing but its function is deployed anew.")
	team.edit(t, "functions/quote_price/tool.json", "orders nothing.", "orders nothing. Prices are those of today.")
	team.edit(t, "functions/quote_price/prices.go", "2490", "2590")
	second := team.release(t, w)
	if changed := changedFunctions(t, first, second); !slices.Equal(changed, []string{"quote_price"}) {
		t.Errorf("an edit of quote_price changed the functions of %v", changed)
	}
	deploy(second)
	expect(map[string]string{"quote_price": "2", "opening_hours": "1"})
	if !strings.Contains(w.description(t, "quote_price"), "Prices are those of today.") {
		t.Error("the catalogue has the contract of before")
	}

	t.Log("An update that fails, after the new catalogue has gone live: all is as it was before.")
	team.edit(t, "functions/quote_price/prices.go", "2590", "2690")
	team.edit(t, "functions/quote_price/tool.json", "Prices are those of today.", "Prices are those of tomorrow.")
	third := team.release(t, w)
	before := w.code(t, second, "quote_price")
	server.SetInterrupt(func() error {
		if !strings.Contains(w.description(t, "quote_price"), "tomorrow") {
			t.Error("the catalogue was not published before the update failed")
		}
		return errors.New("no alarm could be made")
	})
	if err := server.Deploy(t.Context(), third); err == nil || !strings.Contains(err.Error(), "no alarm could be made") {
		t.Fatalf("the update ended with %v", err)
	}
	server.SetInterrupt(nil)
	expect(map[string]string{"quote_price": "2", "opening_hours": "1"})
	if said := w.description(t, "quote_price"); !strings.Contains(said, "today") {
		t.Errorf("the catalogue says %q", said)
	}
	if after := w.code(t, second, "quote_price"); after != before {
		t.Errorf("the function's code became %s, was %s", after, before)
	}
	if versions := w.versions(t, second, "quote_price"); !slices.Equal(versions, []string{"1", "2"}) {
		t.Errorf("the function has the versions %v; that of the failed update stands in the next one's way", versions)
	}

	t.Log("The same update again, while another team deploys its own stack: both go live.")
	other := w.engine(t)
	wrappers := newTeam(t)
	wrappers.toolsAlone(t, "gift-team")
	if err := os.RemoveAll(filepath.Join(wrappers.dir, "functions", "quote_price")); err != nil {
		t.Fatal(err)
	}
	wrappers.addTool(t, "gift_wrap", "wrapped")
	gifts := wrappers.release(t, w)
	var both sync.WaitGroup
	both.Go(func() {
		if err := other.Deploy(t.Context(), gifts); err != nil {
			t.Errorf("the other team's stack: %v", err)
		}
	})
	deploy(third)
	both.Wait()
	expect(map[string]string{"quote_price": "3", "opening_hours": "1", "gift_wrap": "1"})

	t.Log("A third team writes its template by hand. A name that is taken, a contract that the lint refuses: the " +
		"stack fails and says why.")
	for _, test := range []struct{ tool, risk, says string }{
		{"quote_price", "low", "quote_price"}, {"pay_invoice", "huge", "/contract/risk"},
	} {
		err := other.Deploy(t.Context(), w.handWritten(t, "late-team", test.tool, test.risk))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("publishing %s with the risk %s ended with %v", test.tool, test.risk, err)
		}
		t.Logf("it says: %v", err)
	}
	expect(map[string]string{"quote_price": "3", "opening_hours": "1", "gift_wrap": "1"})
	if err := other.Deploy(t.Context(), w.handWritten(t, "late-team", "pay_invoice", "medium")); err != nil {
		t.Fatal(err)
	}
	expect(map[string]string{"quote_price": "3", "opening_hours": "1", "gift_wrap": "1", "pay_invoice": "1"})

	t.Log("Roll back: the release of before is deployed once more.")
	deploy(second)
	expect(map[string]string{"quote_price": "4", "opening_hours": "1", "gift_wrap": "1", "pay_invoice": "1"})
	if got := w.code(t, second, "quote_price"); got != before {
		t.Errorf("the function's code is %s, want that of the second release, %s", got, before)
	}

	t.Log("A tool is removed: it leaves the catalogue before its function goes.")
	if err := os.RemoveAll(filepath.Join(team.dir, "functions", "opening_hours")); err != nil {
		t.Fatal(err)
	}
	fourth := team.release(t, w)
	server.SetInterrupt(func() error {
		expect(map[string]string{
			"quote_price": w.newest(t, fourth, "quote_price"), "gift_wrap": "1", "pay_invoice": "1",
		})
		if len(w.versions(t, second, "opening_hours")) == 0 {
			t.Error("the function went before the catalogue")
		}
		return nil
	})
	deploy(fourth)
	server.SetInterrupt(nil)
	if versions := w.versions(t, second, "opening_hours"); len(versions) > 0 {
		t.Errorf("the removed tool's function is still there, with the versions %v", versions)
	}

	t.Log("What clients see: the dispatcher's real program lists what the catalogue holds.")
	if got := w.listed(t, fourth); !slices.Equal(got, []string{"gift_wrap", "pay_invoice", "quote_price"}) {
		t.Errorf("tools/list has %v", got)
	}

	t.Log("Remove: other teams' tools go with their stacks, the server with its own; no more is left than was to stay.")
	for _, stack := range []string{"gift-team", "late-team"} {
		if err := other.Delete(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Collect(maps.Keys(w.catalogue(t, teamPrefix))); !slices.Equal(got, []string{"quote_price"}) {
		t.Errorf("the catalogue has %v", got)
	}
	if err := server.Delete(t.Context(), teamPrefix); err != nil {
		t.Fatal(err)
	}
	// The team's own main keeps its price list, which is what the CDK does with a table of which nothing is said.
	if left := w.left(t, teamPrefix); !slices.Equal(left, []string{teamPrefix + "-prices"}) {
		t.Errorf("left: %v", left)
	}
}

// checkTeamsRights asks what the team's stack allows: what every deployment's does, and what the team has granted its
// own tool.
func checkTeamsRights(t *testing.T, c *team, stack *assembly.Stack) {
	t.Helper()
	stage, err := settings.Read(filepath.Join(c.dir, "infra", "patchbay.json"), "dev", "")
	if err != nil {
		t.Fatal(err)
	}
	set, problems := contract.LoadDir(filepath.Join(c.dir, "functions"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	roles, err := iamsim.Roles(stack)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &rights.Deployment{
		Stage: stage, Stack: stack, Roles: roles, Tools: set.Tools, Account: account, Region: region,
	}
	deployment.Check(t)
	deployment.CheckOperators(t)
	prices := "arn:aws:dynamodb:" + region + ":" + account + ":table/" + teamPrefix + "-prices"
	for _, test := range []struct {
		tool, action string
		want         iamsim.Decision
	}{
		{"quote_price", "dynamodb:GetItem", iamsim.Allowed},
		{"quote_price", "dynamodb:PutItem", iamsim.ImplicitDeny},
		{"opening_hours", "dynamodb:GetItem", iamsim.ImplicitDeny},
	} {
		request := iamsim.Request{Action: test.action, Resource: prices}
		if got, err := deployment.Function(test.tool).Decide(request); err != nil || got != test.want {
			t.Errorf("%s: %s is %s, %v; want %s", test.tool, request, got, err, test.want)
		}
	}
}

// handWritten is the stack of a team without the constructs.
func (w *world) handWritten(t *testing.T, stack, tool, risk string) *assembly.Stack {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "hand-written.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("-tool-TOOL-", "-tool-"+stack+"-", "TOOL", tool, "RISK", risk).Replace(string(data))
	made, err := assembly.New(stack, []byte(text), w.place())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// changedFunctions are the tools, or the names of other functions, of which a release has another version or code.
func changedFunctions(t *testing.T, old, fresh *assembly.Stack) []string {
	t.Helper()
	code := func(stack *assembly.Stack) map[string]string {
		found := map[string]string{}
		for _, r := range stack.Resources("AWS::Lambda::Function") {
			name, err := r.Ref()
			if err != nil {
				t.Fatal(err)
			}
			for tool, function := range toolFunctions(t, stack) {
				if function == name {
					name = tool
				}
			}
			properties, _ := r.Properties["Code"].(map[string]any)
			found[name], _ = properties["S3Key"].(string)
		}
		return found
	}
	before, after := code(old), code(fresh)
	var changed []string
	for name, key := range after {
		if before[name] != key {
			changed = append(changed, name)
		}
	}
	versions := func(stack *assembly.Stack) (ids []string) {
		for _, r := range stack.Resources("AWS::Lambda::Version") {
			ids = append(ids, r.ID)
		}
		return ids
	}
	fresher := slices.DeleteFunc(versions(fresh), func(id string) bool { return slices.Contains(versions(old), id) })
	if len(fresher) != len(changed) {
		t.Errorf("new versions: %v", fresher)
	}
	slices.Sort(changed)
	return changed
}

// description is that of a tool in the catalogue.
func (w *world) description(t *testing.T, tool string) string {
	t.Helper()
	reader := registry.NewReader(dynamodb.NewFromConfig(w.config), teamPrefix+"-registry", registry.ReaderOptions{})
	entry, err := reader.Lookup(t.Context(), tool)
	if err != nil {
		t.Error(err)
		return ""
	}
	return entry.Tool.Description
}

// code is the digest of the code that a tool's function has now.
func (w *world) code(t *testing.T, stack *assembly.Stack, tool string) string {
	t.Helper()
	got, err := lambda.NewFromConfig(w.config).GetFunctionConfiguration(t.Context(),
		&lambda.GetFunctionConfigurationInput{FunctionName: aws.String(toolFunctions(t, stack)[tool])})
	if err != nil {
		t.Fatal(err)
	}
	return *got.CodeSha256
}

// versions are the numbered versions of a tool's function; none when there is no function.
func (w *world) versions(t *testing.T, stack *assembly.Stack, tool string) []string {
	t.Helper()
	got, err := lambda.NewFromConfig(w.config).ListVersionsByFunction(t.Context(),
		&lambda.ListVersionsByFunctionInput{FunctionName: aws.String(toolFunctions(t, stack)[tool])})
	if err != nil {
		return nil
	}
	var numbers []string
	for _, version := range got.Versions {
		if *version.Version != "$LATEST" {
			numbers = append(numbers, *version.Version)
		}
	}
	return numbers
}

func (w *world) newest(t *testing.T, stack *assembly.Stack, tool string) string {
	t.Helper()
	versions := w.versions(t, stack, tool)
	return versions[len(versions)-1]
}

// left are the functions and tables of a deployment that exist.
func (w *world) left(t *testing.T, prefix string) []string {
	t.Helper()
	var left []string
	functions, err := lambda.NewFromConfig(w.config).ListFunctions(t.Context(), &lambda.ListFunctionsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range functions.Functions {
		left = append(left, *function.FunctionName)
	}
	tables, err := dynamodb.NewFromConfig(w.config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}
	left = append(left, tables.TableNames...)
	return slices.DeleteFunc(left, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}
