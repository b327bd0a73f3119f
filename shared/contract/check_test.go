package contract

import (
	"slices"
	"testing"
	"time"
)

func TestARNs(t *testing.T) {
	t.Parallel()
	tests := map[bool][]string{
		true: {
			"arn:aws:lambda:eu-central-1:123456789012:function:notes:7",
			"arn:aws:lambda:us-east-1:123456789012:function:notes:live",
			"arn:aws-cn:lambda:cn-north-1:123456789012:function:n:1",
			"arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:n_-1:PROD-2",
			"local:legacy_lookup",
		},
		false: {
			"", "notes", "local:", "local:a b", "local:a:1",
			"arn:aws:lambda:us-east-1:123456789012:function:notes",
			"arn:aws:lambda:us-east-1:123456789012:function:notes:",
			"arn:aws:lambda:us-east-1:123456789012:function:notes:$LATEST",
			"arn:aws:lambda:us-east-1:123456789012:function:notes:1:2",
			"arn:aws:lambda:us-east-1:1234:function:notes:1",
			"arn:aws:lambda:us-east-1:123456789012:layer:notes:1",
			"arn:aws:s3:us-east-1:123456789012:function:notes:1",
			"arn:aws:lambda:us-east-1:123456789012:function:notes:1\n",
		},
	}
	for want, arns := range tests {
		for _, arn := range arns {
			c := &checker{file: "f"}
			c.checkARN(arn)
			if got := len(c.problems) == 0; got != want {
				t.Errorf("%q: allowed = %v, want %v", arn, got, want)
			}
		}
	}
}

func TestMetaKeys(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"":              {"a", "com.example/", "com.example/a.b_c-d", "x/y", "com.example.mcp/a", "mcp/a", "A-1.b/0"},
		"meta-key":      {"-", "a-", "a b", "/a", "a./b", ".a/b", "a-/b", "1a/b", "a/b/c", "a/_b", "é"},
		"meta-reserved": {"", "tracestate", "baggage", "a.mcp/b", "A.MCP.c/", "io.modelcontextprotocol/ui", "Dev.Patchbay/a"},
	}
	for want, keys := range tests {
		for _, key := range keys {
			c := &checker{file: "f"}
			c.checkMetaKey(key, "/_meta")
			got := ""
			if len(c.problems) > 0 {
				got = c.problems[0].ID
			}
			if got != want {
				t.Errorf("key %q: %q, want %q", key, got, want)
			}
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	tests := map[Duration]time.Duration{
		"90s": 90 * time.Second, "15m": 15 * time.Minute, "24h": 24 * time.Hour, "30d": 720 * time.Hour,
		"": 0, "h": 0, "0h": 0, "012h": 0, "-1h": 0, "+1h": 0, "1.5h": 0, "1h30m": 0, "24": 0, "1 h": 0, "1H": 0, "1w": 0,
		"99999999999999999999d": 0, "2147483647d": 0,
	}
	for text, want := range tests {
		if got := text.Duration(); got != want {
			t.Errorf("%q = %v, want %v", text, got, want)
		}
	}
}

// A value at fault is reported once: nothing that merely follows from the fault is said.
func TestOneFaultIsOneProblem(t *testing.T) {
	t.Parallel()
	for _, contract := range []string{
		`{"risk":"hihg","confirmation":"never"}`, `{"idempotency":{"mode":"keys"}}`, `{"execution":{"timeoutSeconds":"9"}}`,
		`{"permissions":[7]}`, `{"failureModes":[{"code":7,"description":"Gone."}]}`, `{"function":{"runtime":"ruby"}}`,
		`{"function":{"arn":7}}`, `{"function":{"environment":{"MODE":null}}}`, `{"maxResultBytes":"big"}`, `[]`, `null`,
		`{"stepUp":null}`, `{"stepUp":{"acr":1}}`, `{"rateLimit":7}`, `{"auditEvent":7}`, `{"visibility":"hidden"}`,
	} {
		_, problems := Parse("tool.json", small(`"contract":`+contract+`,`))
		if len(problems) != 1 || !slices.Contains([]string{"wrong-type", "wrong-value"}, problems[0].ID) {
			t.Errorf("%s: want one problem, got:\n%s", contract, problems.Error())
		}
	}
}

func TestProblemIsOneLine(t *testing.T) {
	t.Parallel()
	p := Problem{File: "f", Pointer: "/a", ID: "x-y", Message: "two\nlines", Allowed: "one\r\nline",
		Severity: SeverityWarning}
	const want = "f /a: warning: two lines; allowed: one  line [x-y]"
	if got := p.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
