package callpath

import (
	"testing"
	"time"

	"patchbay/scripts/locallog"
)

// written makes lines of a log, each a millisecond offset, a group, a stream and a message.
func written(lines ...[3]string) []locallog.Line {
	all := make([]locallog.Line, len(lines))
	for i, line := range lines {
		offset, err := time.ParseDuration(line[0])
		if err != nil {
			panic(err)
		}
		at := time.Unix(1_700_000_000, 0).Add(offset)
		all[i] = locallog.Line{Time: at, Group: line[1], Stream: line[1], Message: line[2]}
	}
	return all
}

func TestFromLog(t *testing.T) {
	t.Parallel()
	const access = `{"requestId":"r","httpMethod":"POST","path":"/mcp",`
	for name, test := range map[string]struct {
		lines          []locallog.Line
		spans, refusal string
	}{
		"a local stack": {
			written(
				[3]string{"1ms", "/aws/lambda/dispatcher", "START RequestId: d1 Version: 1"},
				[3]string{"3ms", "/aws/lambda/greet", "START RequestId: t1 Version: 1"},
				[3]string{"4ms", "/aws/lambda/greet", `{"msg":"tool call","requestId":"r","outcome":"ok","coldStart":true}`},
				[3]string{"9ms", "/aws/lambda/dispatcher", dispatched},
				[3]string{"10ms", "/aws/apigateway/local", access + `"status":200,"responseLatency":10}`},
			),
			"gateway@0+10, dispatcher@1+8, greet@3+1 cold 0", "",
		},
		"a deployment": {
			written(
				[3]string{"15ms", "/aws/lambda/shop-dispatcher", `{"type":"platform.start","record":{"requestId":"d1"}}`},
				// The clock of another machine.
				[3]string{"-1ms", "/aws/lambda/shop-authorizer", `{"type":"platform.start","record":{"requestId":"a1"}}`},
				[3]string{"2ms", "/aws/lambda/shop-authorizer", allowed},
				[3]string{"20ms", "/aws/lambda/shop-dispatcher", dispatched},
				[3]string{"21ms", "/aws/lambda/shop-dispatcher", `{"type":"platform.report","record":{"status":"success",` +
					`"metrics":{"durationMs":5.5,"initDurationMs":10}}}`},
				[3]string{"40ms", "/aws/apigateway/shop", access + `"status":"200","responseLatency":"40","responseType":"-"}`},
			),
			"gateway@0+40, authorizer@0+3, dispatcher@5+15.5 cold 10", "",
		},
		"a time-out": {
			written(
				[3]string{"1ms", "/aws/lambda/shop-greet", `{"type":"platform.start"}`},
				[3]string{"2ms", "/aws/lambda/shop-greet", `{"type":"platform.report","record":{"status":"timeout",` +
					`"metrics":{"durationMs":3000}}}`},
				[3]string{"3ms", "/aws/lambda/shop-greet", `{"type":"platform.start"}`},
				[3]string{"4ms", "/aws/lambda/shop-greet", `{"type":"platform.report","record":{"status":"error",` +
					`"errorType":"Runtime.ExitError"}}`},
				[3]string{"5s", "/aws/apigateway/shop", access + `"status":"200","responseLatency":"5000"}`},
			),
			"gateway@0+5000, shop-greet@1+3000 timeout, shop-greet@3+0 Runtime.ExitError", "",
		},
		"refused by the gateway": {
			written([3]string{"3ms", "/aws/apigateway/shop", access + `"status":"429","responseLatency":"2",` +
				`"responseType":"THROTTLED"}`}),
			"gateway@0+2 THROTTLED", "gateway: THROTTLED",
		},
	} {
		call, found := FromLog("r", test.lines)
		if got := spans(call); !found || got != test.spans || call.Refusal != test.refusal {
			t.Errorf("%s:\ngot  %s, %q\nwant %s, %q", name, got, call.Refusal, test.spans, test.refusal)
		}
		if len(call.Lines) == 0 || call.HTTPMethod != "POST" || call.Status == 0 {
			t.Errorf("%s: got %+v", name, call)
		}
	}
	if _, found := FromLog("r", written([3]string{"1ms", "/aws/lambda/greet", "x"})); found {
		t.Error("a call without the gateway's line is one")
	}
}
