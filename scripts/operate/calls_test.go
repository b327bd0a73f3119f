package operate

import (
	"context"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/locallog"
)

func lines(messages ...string) []locallog.Line {
	all := make([]locallog.Line, len(messages))
	for i, message := range messages {
		all[i].Message = message
	}
	return all
}

// An instance's log is cut to the one invocation that names the id, in both of Lambda's log formats.
func TestInvocation(t *testing.T) {
	t.Parallel()
	const start, report = `{"type":"platform.start"}`, `{"type":"platform.report"}`
	for name, test := range map[string]struct {
		stream string // lines, divided by bars
		want   string
	}{
		"text": {"START RequestId: a|x|REPORT RequestId: a|START RequestId: b|y|ID|z|REPORT RequestId: b|" +
			"START RequestId: c", "START RequestId: b|y|ID|z|REPORT RequestId: b"},
		"JSON": {start + "|x|" + report + "|" + start + "|ID|" + report + "|z", start + "|ID|" + report},
		"a crash": {"START RequestId: a|ID|panic|goroutine 1|START RequestId: b|x",
			"START RequestId: a|ID|panic|goroutine 1"},
		"no beginning": {"x|ID|y", "ID|y"},
		"twice": {"START RequestId: a|ID|x|ID|REPORT RequestId: a|y",
			"START RequestId: a|ID|x|ID|REPORT RequestId: a"},
		"not there": {"x|y", "named"},
	} {
		var got []string
		for _, line := range invocation(lines(strings.Split(test.stream, "|")...), "ID", lines("named")) {
			got = append(got, line.Message)
		}
		if joined := strings.Join(got, "|"); joined != test.want {
			t.Errorf("%s: got %s, want %s", name, joined, test.want)
		}
	}
}

func TestWhatTheDispatchersLinesName(t *testing.T) {
	t.Parallel()
	const id = "11111111-aaaa-4000-8000-000000000001"
	const arn = "arn:aws:lambda:eu-west-1:1:function:"
	const crashed = "0f941558-5f97-431a-86b4-9c0806257ed6"
	all := lines("START RequestId: 22222222-aaaa-4000-8000-000000000001 Version: 3",
		`{"requestId":"`+id+`","function":"`+arn+`one:7","cause":"RequestId: `+crashed+` Error: exit"}`,
		`{"requestId":"`+id+`","function":"`+arn+`one:7"}`, `{"requestId":"other","function":"`+arn+`two:7"}`,
		`{"requestId":"`+id+`","function":"local"}`, "no JSON "+id)
	if got := functionsIn(all, id); len(got) != 1 || got[0] != "one" {
		t.Errorf("functions %q", got)
	}
	if got := invocationsIn(all, id); len(got) != 1 || got[0] != crashed {
		t.Errorf("invocations %q", got)
	}
}

func TestDeploymentNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"shop-prod": true, "my-shop-dev": true, "s-p": true, "shop": false, "Shop-prod": false, "shop-": false,
		"shop-prod/": false, "1shop-prod": false, "": false,
	} {
		if got := deploymentName.MatchString(name); got != good {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// logsOf is a source of logs that has these lines, by group.
type logsOf map[string][]locallog.Line

func (l logsOf) find(_ context.Context, query logQuery) ([]locallog.Line, error) {
	all, ok := l[query.group]
	if !ok {
		return nil, errNoLog
	}
	var found []locallog.Line
	for _, line := range all {
		if strings.Contains(line.Message, query.text) {
			found = append(found, line)
		}
	}
	return found, nil
}

// What the authorizer says of a call is found by the request's id or by that of its invocation; that an anonymous
// server has none is not worth a word.
func TestTheAuthorizersLines(t *testing.T) {
	t.Parallel()
	const id, invocation = "11111111-aaaa-4000-8000-000000000001", "0f941558-5f97-431a-86b4-9c0806257ed6"
	const access = `{"requestId":"` + id + `","authorizerLambdaRequestId":"` + invocation + `","status":"403"}`
	for name, test := range map[string]struct {
		authorizer []locallog.Line
		want       string
	}{
		"a decision": {lines(`{"requestId":"` + id + `","outcome":"denied"}`), "denied"},
		"a crash":    {lines("START RequestId: "+invocation, "panic "+invocation), "panic"},
		"none":       {nil, ""},
	} {
		logs := logsOf{"gateway": lines(access), "dispatcher": nil}
		if test.authorizer != nil {
			logs["authorizer"] = test.authorizer
		}
		target := &Target{
			logs: logs, gatewayLog: "gateway", authorizerLog: "authorizer", dispatcherLog: "dispatcher", now: time.Now,
		}
		call, err := target.Call(t.Context(), id, time.Hour, "")
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for _, line := range call.Lines {
			said.WriteString(line.Message + "\n")
		}
		if !strings.Contains(said.String(), test.want) || strings.Contains(strings.Join(call.Notes, " "), "authorizer") {
			t.Errorf("%s: got %q with the notes %q, want %q", name, said.String(), call.Notes, test.want)
		}
	}
}

// A note says that there may be more of a call only where that may be so.
func TestNoteOfACallThatNobodyExplains(t *testing.T) {
	t.Parallel()
	const id = "11111111-aaaa-4000-8000-000000000001"
	const named = `"requestId":"` + id + `"`
	const passed, denied = `{` + named + `,"status":"200","responseType":"-"}`,
		`{` + named + `,"status":"403","responseType":"ACCESS_DENIED"}`
	for name, test := range map[string]struct {
		access, dispatcher string
		noted              bool
	}{
		"denied by the authorizer":   {denied, "", false},
		"refused by the dispatcher":  {passed, `{` + named + `,"msg":"request","outcome":"refused"}`, false},
		"an unknown tool":            {passed, `{` + named + `,"msg":"tools/call","outcome":"unknown_tool"}`, false},
		"a public address":           {passed, `{` + named + `,"msg":"discovery","status":200}`, false},
		"a dispatcher that crashed":  {`{` + named + `,"responseType":"INTEGRATION_FAILURE"}`, "panic " + id, true},
		"an attempt and then no end": {passed, `{` + named + `,"log":"audit","outcome":"attempt"}`, true},
		"nothing but the gateway's":  {passed, "", true},
		"nothing at all":             {"", "", false},
	} {
		logs := logsOf{"gateway": nil, "dispatcher": nil}
		if test.access != "" {
			logs["gateway"] = lines(test.access)
		}
		if test.dispatcher != "" {
			logs["dispatcher"] = []locallog.Line{{Group: "dispatcher", Message: test.dispatcher}}
		}
		target := &Target{
			logs: logs, gatewayLog: "gateway", authorizerLog: "authorizer", dispatcherLog: "dispatcher", now: time.Now,
		}
		call, err := target.Call(t.Context(), id, time.Hour, "")
		if err != nil {
			t.Fatal(err)
		}
		if noted := len(call.Notes) > 0; noted != test.noted {
			t.Errorf("%s: notes %q", name, call.Notes)
		}
	}
}
