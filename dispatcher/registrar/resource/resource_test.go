package resource_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"patchbay/dispatcher/registrar/resource"
	"patchbay/shared/registry"
)

// The life of a stack: created, updated, rolled back from an update whose other parts failed, deleted.
func TestLifeOfAStack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.succeeds("create")
	f.wantTools("get_weather:1")
	if created.Data["Tools"] != "1" || created.Data["Snapshot"] == "" {
		t.Errorf("attributes %v", created.Data)
	}
	updated := f.succeeds("update")
	f.wantTools("create_note:1", "get_weather:2")
	back := f.succeeds("rollback")
	f.wantTools("get_weather:1")
	if back.Data["Snapshot"] == created.Data["Snapshot"] {
		t.Error("a rollback published under the old id, which Prune may be deleting")
	}
	for _, answer := range []cfn.Response{updated, back} {
		if answer.PhysicalResourceID != created.PhysicalResourceID {
			t.Errorf("the physical id became %s, so CloudFormation would delete %s", answer.PhysicalResourceID,
				created.PhysicalResourceID)
		}
	}
	f.succeeds("delete")
	f.wantTools()
	f.succeeds("delete", func(e *cfn.Event) { e.RequestID = "another" })
}

// An update that is refused leaves the catalogue as it was, and so does the rollback that follows.
func TestRefusedUpdate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	f.fails("update-version-missing", "tool get_weather (functions/get_weather/tool.json): function version "+
		"arn:aws:lambda:us-east-1:123456789012:function:"+weather+":9 does not exist")()
	f.wantTools("get_weather:1")
	f.succeeds("rollback-of-refused")
	f.wantTools("get_weather:1")
}

// A rollback to what is live is not refused for what has become wrong with it meanwhile.
func TestRollbackToWhatIsLiveIsNotRefused(t *testing.T) {
	t.Parallel()
	gone := atomic.Bool{}
	client := lambdaBehind(t, func(w http.ResponseWriter, _ *http.Request) bool {
		if gone.Load() {
			refusal(w, http.StatusNotFound, "ResourceNotFoundException")
		}
		return gone.Load()
	})
	f := newFixture(t, func(o *resource.Options) { o.Lambda = client })
	f.succeeds("create")
	gone.Store(true)
	f.fails("update", "does not exist")()
	f.succeeds("rollback")
	f.wantTools("get_weather:1")
}

// CloudFormation's events, and Lambda's, may come twice; the second may come late.
func TestDuplicateDelivery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.succeeds("create")
	if again := f.succeeds("create"); again.Data["Snapshot"] != first.Data["Snapshot"] {
		t.Errorf("the same request published twice: %v, %v", first.Data, again.Data)
	}
	f.succeeds("update")
	f.succeeds("create")
	f.wantTools("create_note:1", "get_weather:2")
	f.succeeds("delete")
	f.succeeds("update")
	f.wantTools()
}

// A deletion that comes again, late, is not one of what was created since.
func TestLateDuplicateOfADeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	f.succeeds("delete")
	f.succeeds("create", func(e *cfn.Event) { e.RequestID = "again" })
	f.succeeds("delete")
	f.wantTools("get_weather:1")
	f.succeeds("delete", func(e *cfn.Event) { e.RequestID = "another" })
	f.wantTools()
}

func TestDuplicatesAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := f.handler.Handle(asRegistrar(t.Context()), f.event("update")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	f.wantTools("create_note:1", "get_weather:2")
}

// Two stacks that deploy at once both get in, and neither loses what the other wrote.
func TestTwoStacksAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 4 {
		var group sync.WaitGroup
		for _, name := range []string{"update", "create-other-stack"} {
			group.Go(func() {
				f.succeeds(name, func(e *cfn.Event) { e.RequestID += fmt.Sprint(round) })
			})
		}
		group.Wait()
		f.wantTools("create_note:1", "get_weather:2", "quote_shipping:live")
		f.succeeds("delete-other-stack", func(e *cfn.Event) { e.RequestID += fmt.Sprint(round) })
		f.wantTools("create_note:1", "get_weather:2")
	}
}

// Of two stacks with a tool of one name, one gets it.
func TestTwoStacksAtOnceWithOneName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var group sync.WaitGroup
	var failed atomic.Int64
	for _, name := range []string{"create", "create-owned-name"} {
		group.Go(func() {
			if answer := f.send(name); answer.Status == cfn.StatusFailed {
				failed.Add(1)
			}
		})
	}
	group.Wait()
	if failed.Load() != 1 {
		t.Errorf("%d were refused", failed.Load())
	}
	f.wantTools("get_weather:1")
}

func TestNameOfAnotherStack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	f.fails("create-owned-name", "get_weather is owned by source "+stack)()
	f.succeeds("delete-other-stack") // which follows the failed creation
	f.wantTools("get_weather:1")
}

// inline publishes one tool with the contract of get_weather by another name.
func inline(t *testing.T, name, function string) func(*cfn.Event) {
	t.Helper()
	text := strings.Replace(contractText(t, "get_weather"), `"get_weather"`, `"`+name+`"`, 1)
	return func(e *cfn.Event) {
		e.ResourceProperties = map[string]any{"Tools": []any{map[string]any{
			"Contract": text, "Function": "arn:aws:lambda:us-east-1:123456789012:function:" + function,
		}}}
	}
}

// A stack cannot have another one's function called under a contract of its own, in whichever version.
func TestFunctionOfAnotherStack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	f.fails("create-other-stack", "function arn:aws:lambda:us-east-1:123456789012:function:"+weather+
		" of tool innocent serves tools of source "+stack)(inline(t, "innocent", weather+":2"))
	f.wantTools("get_weather:1")
}

// A second resource in a stack would replace the tools of the first.
func TestSecondResourceInAStack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	f.fails("create-second-resource", "a stack has one resource", "CatalogueTools5F3A1B22 has published it")()
	f.wantTools("get_weather:1")
	f.succeeds("delete-second-resource")
	f.wantTools("get_weather:1")
	f.succeeds("delete")
	f.succeeds("create-second-resource", func(e *cfn.Event) { e.RequestID = "later" })
	f.wantTools("create_note:1")
}

// The physical id does not say whose tools these are: one whose creation was never answered has another.
func TestDeleteUnderAnotherPhysicalID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	if answer := f.succeeds("delete-replaced"); !strings.HasPrefix(answer.PhysicalResourceID, "2026/11/29/") {
		t.Errorf("the deleted resource became %s", answer.PhysicalResourceID)
	}
	f.wantTools()
}

func TestDeleteOfWhatNeverWas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("delete")
	f.succeeds("delete", func(e *cfn.Event) { e.ResourceProperties = map[string]any{"Catalog": 1.0} })
}

// The reason tells as many problems as fit, as the lint tells them, and how many more there are; the log tells all.
func TestRefusedContracts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	answer := f.fails("create-bad-contracts", "functions/bad_000/tool.json", "bad <name> & more",
		"more, in the registrar's log")()
	if !strings.Contains(f.log.String(), "functions/bad_299/tool.json") {
		t.Error("the log does not tell all problems")
	}
	if len(answer.Reason) < 3000 {
		t.Errorf("the reason uses %d bytes of what there is: %s", len(answer.Reason), answer.Reason)
	}
	f.wantTools()
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	key := func(key string) func(*cfn.Event) {
		return func(e *cfn.Event) {
			e.ResourceProperties["Catalogue"] = map[string]any{"Bucket": bucket, "Key": key}
		}
	}
	functions := func(functions map[string]any) func(*cfn.Event) {
		return func(e *cfn.Event) { e.ResourceProperties["Functions"] = functions }
	}
	set := func(name string, value any) func(*cfn.Event) {
		return func(e *cfn.Event) { e.ResourceProperties[name] = value }
	}
	tools := func(tools ...any) func(*cfn.Event) {
		return func(e *cfn.Event) { e.ResourceProperties = map[string]any{"Tools": tools} }
	}
	arn := func(rest string) map[string]any {
		return map[string]any{"get_weather": "arn:aws:lambda:us-east-1:123456789012:function:" + rest}
	}
	for name, test := range map[string]struct {
		edit func(*cfn.Event)
		says []string
	}{
		"no bucket": {func(e *cfn.Event) {
			e.ResourceProperties["Catalogue"] = map[string]any{"Bucket": "no-such-bucket", "Key": "v1.json"}
		}, []string{"reading the catalogue s3://no-such-bucket/v1.json", "NoSuchBucket"}},
		"no file":        {key("no-such.json"), []string{"s3://" + bucket + "/no-such.json", "NoSuchKey"}},
		"newer format":   {key("next.json"), []string{"format 2", "update the server first"}},
		"unknown member": {key("else.json"), []string{`unknown field "signed"`}},
		"no JSON":        {key("text.json"), []string{"not JSON"}},
		"misspelt": {set("Catalog", map[string]any{}),
			[]string{"property Catalog is unknown; did you mean Catalogue?"}},
		"unknown":    {set("Xyzzy", "1"), []string{"property Xyzzy is unknown; allowed: ServiceToken"}},
		"both forms": {set("Tools", []any{}), []string{"both Catalogue and Tools"}},
		"neither form": {func(e *cfn.Event) { delete(e.ResourceProperties, "Catalogue") },
			[]string{"neither Catalogue nor Tools"}},
		"no key": {set("Catalogue", map[string]any{"Bucket": "b"}), []string{"property Catalogue.Key is missing"}},
		"catalogue is text": {set("Catalogue", "b"),
			[]string{"property Catalogue is text; it must be an object"}},
		"function is missing": {functions(map[string]any{}),
			[]string{"tool get_weather (functions/get_weather/tool.json): property Functions.get_weather is missing"}},
		"function without tool": {functions(map[string]any{"get_weather": "x", "sing": "arn"}),
			[]string{"Functions.sing: the catalogue s3://" + bucket + "/v1.json has no tool of that name"}},
		"function is a list": {functions(map[string]any{"get_weather": []any{}}),
			[]string{"property Functions.get_weather is a list; it must be text"}},
		"function without version": {functions(arn(weather)), []string{"with a version or an alias"}},
		"function of $LATEST":      {functions(arn(weather + ":$LATEST")), []string{"with a version or an alias"}},
		"function of another region": {functions(map[string]any{
			"get_weather": "arn:aws:lambda:eu-west-1:123456789012:function:x:1"}), []string{"is in eu-west-1"}},
		"no such function": {functions(arn(weather + ":77")), []string{"function:" + weather + ":77 does not exist"}},
		"function that no settings name": {functions(arn("nowhere:1")), []string{
			"the dispatcher may not call function arn:aws:lambda:us-east-1:123456789012:function:nowhere:1.",
			`put "nowhere": "arn:aws:lambda:us-east-1:123456789012:function:nowhere:1" under "functions"`}},
		"another version than the settings name": {functions(arn(quote + ":1")), []string{
			quote + ":1; of this function they name arn:aws:lambda:us-east-1:123456789012:function:" + quote + ":live"}},
		"no list": {func(e *cfn.Event) { e.ResourceProperties = map[string]any{"Tools": "x"} },
			[]string{"Tools is text"}},
		"no object": {tools("x"), []string{"property Tools[0] is text"}},
		"contract is an object": {tools(map[string]any{"Contract": map[string]any{}, "Function": "f"}),
			[]string{"Tools[0].Contract is an object; it must be text"}},
		"contract is empty": {tools(map[string]any{"Contract": "", "Function": "f"}),
			[]string{"Tools[0].Contract is empty"}},
		"contract is wrong": {tools(map[string]any{"Contract": "{}", "Function": "f"}),
			[]string{"Tools[0].Contract", " /name"}},
		"functions beside tools": {func(e *cfn.Event) {
			e.ResourceProperties = map[string]any{"Tools": []any{}, "Functions": map[string]any{}}
		}, []string{"Functions is only for Catalogue"}},
		"unknown order": {func(e *cfn.Event) { e.RequestType = "Rename" }, []string{`request type "Rename"`}},
		"no stack":      {func(e *cfn.Event) { e.StackID = "" }, []string{"must come from CloudFormation"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.fails("create", test.says...)(test.edit)
			f.wantTools()
		})
	}
}

// A function that runs for longer than its contract says would still be running when its call is believed to be over.
func TestFunctionMayNotOutliveItsContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	text := strings.Replace(contractText(t, "get_weather"), `"timeoutSeconds": 5`, `"timeoutSeconds": 4`, 1)
	inline := func(e *cfn.Event) {
		e.ResourceProperties = map[string]any{"Tools": []any{map[string]any{
			"Contract": text, "Function": "arn:aws:lambda:us-east-1:123456789012:function:" + weather + ":1",
		}}}
	}
	f.fails("create", "tool get_weather (Tools[0].Contract)", "may run for 5 seconds", "timeoutSeconds is 4")(inline)
	f.wantTools()
}

// The longest call is the server's setting: it goes into the catalogue with what it allows.
func TestLongestCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *resource.Options) { o.MaxCallSeconds = 7 })
	f.succeeds("create")
	f.fails("update", "functions/create_note/tool.json", "the server ends a call after 7 seconds, this tool after 10")()
	f.wantTools("get_weather:1")
	f.wantLongestCall(7)
	f.options.MaxCallSeconds = 6
	f.handler = resource.New(f.options)
	f.fails("update", "after 6 seconds")()
	f.wantLongestCall(7)
	f.succeeds("rollback")
	f.wantLongestCall(6)
}

// What is live stays, as it does for other stacks, when the server's longest call becomes shorter: the rollback of an
// update that was refused for it must succeed. Whatever differs from what is live is checked.
func TestRollbackToWhatIsLiveOutlastsTheLongestCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.succeeds("create")
	f.options.MaxCallSeconds = 4
	f.handler = resource.New(f.options)
	f.fails("update", "functions/get_weather/tool.json", "the server ends a call after 4 seconds, this tool after 5")()
	f.wantLongestCall(60)
	f.fails("update", "after 4 seconds")(func(e *cfn.Event) { // one more version, and nothing else
		e.RequestID, e.ResourceProperties["Catalogue"] = "another", f.event("create").ResourceProperties["Catalogue"]
		delete(e.ResourceProperties["Functions"].(map[string]any), "create_note")
	})
	f.succeeds("rollback")
	f.wantTools("get_weather:1")
	f.wantLongestCall(4)
}

func (f *fixture) wantLongestCall(want int) {
	f.Helper()
	settings, err := registry.NewReader(f.db, f.options.Table, registry.ReaderOptions{}).Settings(f.Context())
	if err != nil || settings.MaxCallSeconds != want {
		f.Errorf("settings %+v, %v; want %d", settings, err, want)
	}
}

// A function of another account may not let itself be read; one of our own account must.
func TestFunctionsThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	client := lambdaBehind(t, func(w http.ResponseWriter, r *http.Request) bool {
		refusal(w, http.StatusForbidden, "AccessDeniedException")
		return true
	})
	f := newFixture(t, func(o *resource.Options) { o.Lambda = client })
	f.fails("create", "tool get_weather", "the registrar may not read function", "AccessDeniedException")()
	f.succeeds("create", func(e *cfn.Event) {
		e.RequestID = "another"
		e.ResourceProperties["Functions"] = map[string]any{
			"get_weather": "arn:aws:lambda:us-east-1:999999999999:function:weather:live"}
	})
	f.wantTools("get_weather:live")
	for _, part := range []string{"may not be read from here", "add-permission --region us-east-1 --function-name " +
		"weather --qualifier live --statement-id notes-prod --action lambda:InvokeFunction --principal " +
		"arn:aws:iam::123456789012:role/notes-prod-dispatcher-us-east-1"} {
		if !strings.Contains(f.log.String(), part) {
			t.Errorf("no warning in the log that says %s: %s", part, f.log)
		}
	}
}

// Lambda is still making a version that was published a moment ago.
func TestPendingFunctions(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	client := lambdaBehind(t, func(w http.ResponseWriter, _ *http.Request) bool {
		states := []string{
			`{"State":"Pending","Timeout":5}`, `{"State":"Failed","StateReason":"no room in the subnet","Timeout":5}`,
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, states[min(looks.Add(1), 2)-1])
		return true
	})
	f := newFixture(t, func(o *resource.Options) { o.Lambda = client })
	f.fails("create", "has failed: no room in the subnet")()
	if looks.Load() != 2 {
		t.Errorf("looked %d times", looks.Load())
	}
}

// Without time left, the order fails with a sentence, before Lambda ends the function without an answer.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithTimeout(asRegistrar(t.Context()), 10*time.Second) // all of which is kept for the answer
	defer cancel()
	event := f.event("create")
	if err := f.handler.Handle(ctx, event); err != nil {
		t.Fatal(err)
	}
	if answer := f.answers.of(event.RequestID); answer.Status != cfn.StatusFailed ||
		!strings.Contains(answer.Reason, "ran out of time") {
		t.Errorf("answer %+v", answer)
	}
	f.wantTools()
}

// The answer is sent again when it could not be delivered; whoever reads the log cannot send one.
func TestAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.answers.refuse = 2
	f.succeeds("create")
	event := f.event("update", func(e *cfn.Event) {
		e.ResponseURL = "https://127.0.0.1:1/answer?X-Amz-Signature=" + signature
	})
	if err := f.handler.Handle(asRegistrar(t.Context()), event); err == nil || strings.Contains(err.Error(), signature) {
		t.Errorf("error %v", err)
	}
	if strings.Contains(f.log.String(), signature) {
		t.Errorf("the log tells the pre-signed URL: %s", f.log)
	}
}

// The event names where its answer goes, and whoever invokes the registrar makes the event: the answer goes to no other
// place, and not where what answers there would like to have it.
func TestWhereAnswersGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	redirecting := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirecting.Close)
	for _, test := range []struct{ to, says string }{
		{elsewhere.URL, "not one of HTTPS"}, {"", "not one of HTTPS"}, {"https:///x", "not one of HTTPS"},
		{redirecting.URL, "307"},
	} {
		f.options.Transport = redirecting.Client().Transport
		handler := resource.New(f.options)
		event := f.event("create", func(e *cfn.Event) { e.ResponseURL = test.to })
		err := handler.Handle(asRegistrar(t.Context()), event)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: error %v", test.to, err)
		}
	}
}

// endless is an S3 whose file does not end, and counts what is read of it.
type endless struct {
	read  int
	owner string
}

func (e *endless) GetObject(
	_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options),
) (*s3.GetObjectOutput, error) {
	e.owner = aws.ToString(in.ExpectedBucketOwner)
	return &s3.GetObjectOutput{Body: io.NopCloser(e)}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// A file that is too large for the registrar's memory is refused by what fits, and read from the own account alone.
func TestLargeCatalogue(t *testing.T) {
	t.Parallel()
	files := &endless{}
	f := newFixture(t, func(o *resource.Options) { o.S3 = files })
	f.fails("create", "it has more than 16777216 bytes")()
	if files.read > 16<<20+1 {
		t.Errorf("%d bytes were read", files.read)
	}
	if files.owner != "123456789012" {
		t.Errorf("the bucket may be of account %q", files.owner)
	}
}

// A panic is answered too.
func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *resource.Options) { o.S3 = nil })
	f.fails("create", "its log says why")()
}

// TestVersionsArePruned deletes a tool's version a day after nothing names it any more, and touches nothing else.
func TestVersionsArePruned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	functions := lambda.NewFromConfig(moto.Config())
	const mine, theirs = "notes-prod-tool-get-weather-00000001", "notes-prod-weather"
	for _, name := range []string{mine, theirs} {
		for version := range 3 {
			if err := publishVersion(t.Context(), functions, f.role(), name, version+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	deploy := func(request, function, version string) {
		t.Helper()
		f.succeeds("create", func(e *cfn.Event) {
			e.RequestID = request
			e.ResourceProperties["Functions"] = map[string]any{
				"get_weather": "arn:aws:lambda:us-east-1:123456789012:function:" + function + ":" + version}
		})
	}
	deploy("r1", theirs, "1")
	deploy("r2", mine, "1")
	deploy("r3", mine, "2")
	f.pass(24 * time.Hour)
	deploy("r4", mine, "1") // a rollback, just before the day's pruning
	f.wantVersions(mine, "1", "2", "3")
	f.pass(time.Hour) // no publish is under way any more
	deploy("r5", mine, "1")
	f.wantVersions(mine, "1", "2", "3")
	f.pass(24 * time.Hour)
	deploy("r6", mine, "3")
	f.wantVersions(mine, "1", "3")
	f.wantVersions(theirs, "1", "2", "3")
	f.fails("create", "does not exist")(func(e *cfn.Event) {
		e.RequestID = "r7"
		e.ResourceProperties["Functions"] = map[string]any{
			"get_weather": "arn:aws:lambda:us-east-1:123456789012:function:" + mine + ":2"}
	})
}

// An operator goes back behind CloudFormation's back, and stays there for long. CloudFormation still has the versions
// of its own last order, and must be able to order them again: with the next deploy, and with that one's rollback.
func TestVersionsThatCloudFormationHasAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.succeeds("create")
	f.succeeds("update")
	_, err := registry.NewPublisher(f.db, f.options.Table, registry.PublisherOptions{Now: f.clock}).
		Rollback(t.Context(), stack, first.Data["Snapshot"].(string), registry.Order{Operator: "night shift"})
	if err != nil {
		t.Fatal(err)
	}
	f.wantTools("get_weather:1")
	f.pass(25 * time.Hour)
	f.succeeds("create-other-stack")
	f.wantVersions(weather, "1", "2")
	f.wantVersions(note, "1")
	f.succeeds("update", func(e *cfn.Event) { e.RequestID = "another" })
	f.wantTools("create_note:1", "get_weather:2", "quote_shipping:live")
}

// A version that another stack's publish named, of a function that it may have had while its owner was away, is the
// owner's: its next update needs it.
func TestVersionsOfTheirOwnerAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, countDeletions(t, func(deleted string) { t.Errorf("deleted: %s", deleted) }))
	f.succeeds("create-other-stack", inline(t, "innocent", weather+":2"))
	f.succeeds("delete-other-stack")
	f.succeeds("create")
	f.pass(25 * time.Hour)
	f.succeeds("create", func(e *cfn.Event) { e.RequestID = "another" })
	f.succeeds("update")
	f.wantTools("create_note:1", "get_weather:2")
}

// A function of another account may be called as one of ours is.
func TestVersionsOfAnotherAccountAreKept(t *testing.T) {
	t.Parallel()
	const theirs = "arn:aws:lambda:us-east-1:999999999999:function:notes-prod-tool-theirs:1"
	count := countDeletions(t, func(deleted string) { t.Errorf("deleted: %s", deleted) })
	f := newFixture(t, count)
	f.succeeds("create-other-stack", func(e *cfn.Event) {
		inline(t, "theirs", "")(e)
		e.ResourceProperties["Tools"].([]any)[0].(map[string]any)["Function"] = theirs
	})
	f.succeeds("delete-other-stack")
	f.pass(25 * time.Hour)
	f.succeeds("create")
	f.fails("create-other-stack", "is in partition aws-cn; the server is in aws")(func(e *cfn.Event) {
		inline(t, "theirs", "")(e)
		e.ResourceProperties["Tools"].([]any)[0].(map[string]any)["Function"] = strings.Replace(theirs, "aws", "aws-cn", 1)
		e.RequestID = "another"
	})
}

// countDeletions tells the deletions that are asked of Lambda, and lets nothing of another account be read.
func countDeletions(t *testing.T, told func(string)) func(*resource.Options) {
	return func(o *resource.Options) {
		o.Lambda = lambdaBehind(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodDelete {
				told(r.URL.String())
				w.WriteHeader(http.StatusNoContent)
				return true
			}
			if strings.Contains(r.URL.Path, "999999999999") {
				refusal(w, http.StatusForbidden, "AccessDeniedException")
				return true
			}
			return false
		})
	}
}

func (f *fixture) role() string {
	f.Helper()
	role, err := iam.NewFromConfig(moto.Config()).GetRole(f.Context(), &iam.GetRoleInput{RoleName: aws.String("tools")})
	if err != nil {
		f.Fatal(err)
	}
	return *role.Role.Arn
}

func (f *fixture) wantVersions(function string, want ...string) {
	f.Helper()
	out, err := lambda.NewFromConfig(moto.Config()).ListVersionsByFunction(f.Context(),
		&lambda.ListVersionsByFunctionInput{FunctionName: aws.String(function)})
	if err != nil {
		f.Fatal(err)
	}
	var got []string
	for _, version := range out.Versions {
		if *version.Version != "$LATEST" {
			got = append(got, *version.Version)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		f.Errorf("%s has versions %q, want %q", function, got, want)
	}
}

// A version that cannot be deleted fails no deploy, and is tried again with the next.
func TestFailedDeletions(t *testing.T) {
	t.Parallel()
	var denied atomic.Bool
	var deletions atomic.Int64
	denied.Store(true)
	client := lambdaBehind(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete {
			return false
		}
		deletions.Add(1)
		if r.URL.Query().Get("Qualifier") == "" {
			t.Errorf("a whole function is deleted: %s", r.URL)
		}
		if denied.Load() {
			refusal(w, http.StatusForbidden, "AccessDeniedException")
		} else {
			refusal(w, http.StatusNotFound, "ResourceNotFoundException") // somebody deleted it by hand
		}
		return true
	})
	f := newFixture(t, func(o *resource.Options) { o.Lambda = client })
	f.succeeds("create")
	f.succeeds("update")
	f.pass(25 * time.Hour)
	for i, want := range []int64{1, 2, 2} {
		denied.Store(i == 0)
		f.succeeds("update", func(e *cfn.Event) { e.RequestID = fmt.Sprint("r", i) })
		if deletions.Load() != want {
			t.Errorf("step %d: %d deletions, want %d", i, deletions.Load(), want)
		}
		f.pass(2 * time.Hour)
	}
	if !strings.Contains(f.log.String(), "deleting a function version") {
		t.Errorf("the log does not tell: %s", f.log)
	}
}
