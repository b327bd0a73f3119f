package resource_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/registrar/order"
	"patchbay/dispatcher/registrar/resource"
	"patchbay/shared/registry"
)

const maps = "maps-team"

// by is a context as Lambda gives it to who invokes the registrar by a qualifier.
func by(ctx context.Context, qualifier string) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{InvokedFunctionArn: registrarARN + ":" + qualifier})
}

// order sends an order by the alias that is for them.
func (f *fixture) order(edits ...func(*order.Order)) order.Answer {
	f.Helper()
	ordered := order.Order{Version: order.Version, Source: maps, Operator: "arn:aws:iam::123456789012:user/ada"}
	for _, edit := range edits {
		edit(&ordered)
	}
	payload, err := json.Marshal(ordered)
	if err != nil {
		f.Fatal(err)
	}
	return f.invoke(payload)
}

func (f *fixture) invoke(payload []byte) (answer order.Answer) {
	f.Helper()
	sent, err := f.handler.Invoke(by(f.Context(), order.Alias), payload)
	if err != nil {
		f.Fatal(err)
	}
	if err := json.Unmarshal(sent, &answer); err != nil {
		f.Fatal(err)
	}
	return answer
}

// legacy names a tool of an order with the contract of quote_shipping, by another name and for any function.
func legacy(t *testing.T, name, function string) func(*order.Order) {
	t.Helper()
	return legacyWith(name, function, strings.Replace(contractText(t, "quote_shipping"), `"quote_shipping"`,
		`"`+name+`"`, 1))
}

func legacyWith(name, function, contract string) func(*order.Order) {
	return func(o *order.Order) {
		o.Tools = append(o.Tools, order.Tool{File: name + "/tool.json", Contract: contract, Function: function})
	}
}

// publish orders it over what is live, and wants it to be done.
func (f *fixture) publish(edits ...func(*order.Order)) order.Answer {
	f.Helper()
	plan := f.order(edits...)
	if plan.Refused != "" || plan.Snapshot != "" {
		f.Fatalf("the plan: %+v", plan)
	}
	answer := f.order(append(edits, func(o *order.Order) { o.Publish, o.Live = true, plan.Live })...)
	if answer.Refused != "" || answer.Snapshot == "" {
		f.Fatalf("the publish: %+v", answer)
	}
	return answer
}

// wantMaps checks what the team's source serves, as wantTools does.
func (f *fixture) wantMaps(want ...string) {
	f.Helper()
	live, _, err := registry.NewPublisher(f.db, f.options.Table, registry.PublisherOptions{}).Live(f.Context(), maps)
	if err != nil {
		f.Fatal(err)
	}
	var got []string
	for _, p := range live {
		got = append(got, p.Tool.Name+p.Function[strings.LastIndex(p.Function, ":"):])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("the source serves (-want +got):\n%s", diff)
	}
}

// changes are an answer's, in short.
func changes(answer order.Answer) []string {
	var list []string
	for _, c := range answer.Changes {
		switch {
		case c.Before == nil:
			list = append(list, "+"+c.Name)
		case c.After == nil:
			list = append(list, "-"+c.Name)
		default:
			list = append(list, "~"+c.Name)
		}
	}
	return list
}

func replace(o *order.Order) { o.Replace = true }

// A tool is looked at, published, joined by another one, changed, and left out.
func TestOrders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	live := functions + quote + ":live"
	plan := f.order(legacy(t, "quote", live))
	if diff := cmp.Diff([]string{"+quote"}, changes(plan)); diff != "" || plan.Live != "" || plan.Refused != "" {
		t.Fatalf("the plan is %+v (-want +got):\n%s", plan, diff)
	}
	if after := plan.Changes[0].After; after.Function != live || !strings.Contains(string(after.Contract), `"low"`) ||
		!strings.Contains(string(after.Definition), `"quote"`) {
		t.Errorf("it would become %+v", after)
	}
	f.wantMaps()
	first := f.publish(legacy(t, "quote", live))
	f.wantMaps("quote:live")

	second := f.publish(legacy(t, "hurry", functions+documented+":1"))
	if diff := cmp.Diff([]string{"quote"}, second.Kept); diff != "" || second.Live != first.Snapshot {
		t.Errorf("the answer %+v; kept (-want +got):\n%s", second, diff)
	}
	f.wantMaps("hurry:1", "quote:live")

	said := strings.Replace(contractText(t, "quote_shipping"), `"quote_shipping"`, `"quote"`, 1)
	said = strings.Replace(said, "Tells what", "Says what", 1)
	if diff := cmp.Diff([]string{"~quote"}, changes(f.publish(legacyWith("quote", live, said)))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if again := f.order(legacyWith("quote", live, said)); len(again.Changes) > 0 || len(again.Kept) != 2 {
		t.Errorf("the same again: %+v", again)
	}
	if diff := cmp.Diff([]string{"-quote"}, changes(f.publish(legacy(t, "hurry", functions+documented+":1"),
		replace))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	f.wantMaps("hurry:1")
}

// The SDK sends an order again when its answer is lost; another order in between is not undone.
func TestOrderThatComesTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ordered := []func(*order.Order){legacy(t, "quote", functions+quote+":live"), func(o *order.Order) {
		o.Publish, o.Request = true, "r1"
	}}
	first := f.order(ordered...)
	if again := f.order(ordered...); again.Refused != "" || again.Snapshot != first.Snapshot {
		t.Errorf("the same order again: %+v, and first %+v", again, first)
	}
	f.publish(legacy(t, "quote", functions+quote+":live"), legacy(t, "hurry", functions+documented+":1"))
	f.publish(legacy(t, "hurry", functions+documented+":1"), replace)
	if late := f.order(ordered...); late.Refused != "" {
		t.Errorf("the same order, late: %+v", late)
	}
	f.wantMaps("hurry:1")
}

// Whoever has looked at a plan does not publish over what came meanwhile.
func TestOrderOverWhatHasChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	plan := f.order(legacy(t, "quote", functions+quote+":live"))
	f.publish(legacy(t, "hurry", functions+documented+":1"))
	late := f.order(legacy(t, "quote", functions+quote+":live"), replace, func(o *order.Order) {
		o.Publish, o.Live = true, plan.Live
	})
	if !strings.Contains(late.Refused, "look again") {
		t.Errorf("answer %+v", late)
	}
	f.wantMaps("hurry:1")
}

func TestOrdersThatAreRefused(t *testing.T) {
	t.Parallel()
	own := `{"name":"own","description":"Has code beside its contract.","inputSchema":{"type":"object","properties":{},` +
		`"additionalProperties":false},"annotations":{"readOnlyHint":true}}`
	f := newFixture(t)
	f.succeeds("create")
	for name, test := range map[string]struct {
		edit func(*order.Order)
		says string
	}{
		"in the name of a stack":  {func(o *order.Order) { o.Source = stack }, "allowed: 1 to 63 of a-z 0-9 -"},
		"of a later form":         {func(o *order.Order) { o.Version = 2 }, "takes version 1"},
		"name of a stack's tool":  {legacy(t, "get_weather", functions+quote+":live"), "is owned by source " + stack},
		"function of a stack":     {legacy(t, "quote", functions+weather+":2"), "serves tools of source " + stack},
		"function of nobody":      {legacy(t, "quote", functions+"nowhere:1"), "the dispatcher may not call function"},
		"version that is missing": {legacy(t, "quote", functions+note+":77"), "does not exist"},
		"no version":              {legacy(t, "quote", functions+quote), "with a version or an alias"},
		"no function":             {legacyWith("own", "", own), "function is missing"},
		"function is too slow": {legacyWith("own", functions+quote+":live", strings.Replace(own, `"annotations"`,
			`"contract":{"execution":{"timeoutSeconds":2}},"annotations"`, 1)), "may run for 5 seconds"},
		"slower than the server": {legacyWith("own", functions+quote+":live", strings.Replace(own, `"annotations"`,
			`"contract":{"execution":{"timeoutSeconds":61}},"annotations"`, 1)), "timeout-server"},
		"contract with errors": {legacyWith("own", functions+quote+":live", `{"name":"own"}`), "own/tool.json"},
		"two of one name": {func(o *order.Order) {
			legacy(t, "quote", functions+quote+":live")(o)
			legacy(t, "quote", functions+documented+":1")(o)
		}, "the name quote is that of quote/tool.json, too"},
		"nothing": {func(*order.Order) {}, "names 0 tools"},
	} {
		for _, publish := range []bool{false, true} {
			answer := f.order(legacyIfNone(t, test.edit), func(o *order.Order) { o.Publish = publish })
			if !strings.Contains(answer.Refused, test.says) || answer.Snapshot != "" {
				t.Errorf("%s: %+v, want a refusal that says %q", name, answer, test.says)
			}
		}
	}
	f.wantMaps()
	f.wantTools("get_weather:1")
}

// legacyIfNone leaves an order that is wrong in another way with a tool.
func legacyIfNone(t *testing.T, edit func(*order.Order)) func(*order.Order) {
	return func(o *order.Order) {
		edit(o)
		if len(o.Tools) == 0 && (o.Source != maps || o.Version != order.Version) {
			legacy(t, "quote", functions+quote+":live")(o)
		}
	}
}

// A stack does not take what people have published either.
func TestStackAfterAnOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(legacy(t, "get_weather", functions+quote+":live"))
	f.fails("create", "get_weather is owned by source "+maps)()
	f.fails("create-other-stack", "serves tools of source "+maps)()
	f.wantMaps("get_weather:live")
}

// Who may only give orders cannot send what CloudFormation sends, and who comes in CloudFormation's way gives none.
func TestDoors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	event, err := json.Marshal(f.event("create"))
	if err != nil {
		t.Fatal(err)
	}
	if answer := f.invoke(event); !strings.Contains(answer.Refused, "no order") {
		t.Errorf("an event of CloudFormation's by the alias: %+v", answer)
	}
	f.wantTools()
	var ordered order.Order
	legacy(t, "quote", functions+quote+":live")(&ordered)
	ordered.Version, ordered.Source, ordered.Publish = order.Version, maps, true
	payload, err := json.Marshal(ordered)
	if err != nil {
		t.Fatal(err)
	}
	for name, ctx := range map[string]context.Context{
		"the function": asRegistrar(t.Context()), "a version": by(t.Context(), "7"), "nothing": t.Context(),
		"another alias": by(t.Context(), "operators2"), "the latest": by(t.Context(), "$LATEST"),
	} {
		if got, err := f.handler.Invoke(ctx, payload); err == nil {
			t.Errorf("an order by %s: %s", name, got)
		}
	}
	f.wantMaps()
	if _, err := f.handler.Invoke(asRegistrar(t.Context()), event); err != nil {
		t.Error(err)
	}
	f.wantTools("get_weather:1")
}

// The owner of a function in another account must let the dispatcher in, which nobody here can look at.
func TestOrderForAFunctionOfAnotherAccount(t *testing.T) {
	t.Parallel()
	client := lambdaBehind(t, func(w http.ResponseWriter, _ *http.Request) bool {
		refusal(w, http.StatusForbidden, "AccessDeniedException")
		return true
	})
	f := newFixture(t, func(o *resource.Options) { o.Lambda = client })
	answer := f.order(legacy(t, "quote", theirFunctions+"weather:live"))
	if answer.Refused != "" || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0],
		"aws lambda add-permission --region us-east-1 --function-name weather --qualifier live") {
		t.Errorf("answer %+v", answer)
	}
}
