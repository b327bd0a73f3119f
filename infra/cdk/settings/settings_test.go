package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFillsInDefaults(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(`{"stages":{"dev":{}}}`), "dev", "Acme Tools!")
	if err != nil {
		t.Fatal(err)
	}
	want := &Stage{
		Name: "dev", Server: "acme-tools", CacheTTLSeconds: 300, LogRetentionDays: 30, RemovalPolicy: Retain,
		Throttle: Throttle{RatePerSecond: 100, Burst: 200}, GatewayLogRole: true,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("stage (-want +got):\n%s", diff)
	}
	if s.Prefix() != "acme-tools-dev" {
		t.Errorf("prefix %q", s.Prefix())
	}
	if got := s.Secret("token"); got != (Secret{Secret: "acme-tools-dev/tools/token"}) {
		t.Errorf("a secret that the settings do not name lies in %+v", got)
	}
}

// A stage's examples are its own: what the defaults say of them does not remain.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		defaults, stage string
		want            Examples
	}{
		{`{}`, `{}`, Examples{}},
		{`{"examples":true}`, `{}`, Examples{All: true}},
		{`{"examples":true}`, `{"examples":["a.b","c"]}`, Examples{Names: []string{"a.b", "c"}}},
		{`{"examples":["a","b"]}`, `{"examples":["c"]}`, Examples{Names: []string{"c"}}},
		{`{"examples":["a","b"]}`, `{"examples":false}`, Examples{}},
	} {
		s, err := Parse([]byte(`{"defaults":`+test.defaults+`,"stages":{"dev":`+test.stage+`}}`), "dev", "tools")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, s.Examples); diff != "" {
			t.Errorf("%s after %s (-want +got):\n%s", test.stage, test.defaults, diff)
		}
	}
}

const layered = `{
	"name": "tools",
	"defaults": {
		"origins": ["https://a.example"], "cacheTtlSeconds": 60, "logRetentionDays": 7, "removalPolicy": "destroy",
		"domain": {
			"name": "dev.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/ab-1",
			"hostedZoneId": "Z0123456789ABC"
		},
		"environment": {"FROM": "1", "TO": "1"},
		"secrets": {"x": {"secret": "there"}, "y": {"parameter": "/here"}}
	},
	"stages": {
		"dev": {},
		"prod": {
			"origins": ["https://b.example"], "cacheTtlSeconds": 0, "removalPolicy": "retain", "examples": true,
			"domain": {"name": "example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/ab-2"},
			"environment": {"TO": "2"}, "secrets": {"y": {"secret": "elsewhere"}},
			"functions": {"quote": "arn:aws:lambda:eu-west-1:123456789012:function:quote:live"}
		}
	}
}`

func TestParseMergesTheStageIntoTheDefaults(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(layered), "prod", "anything")
	if err != nil {
		t.Fatal(err)
	}
	want := &Stage{
		Name: "prod", Server: "tools", Origins: []string{"https://b.example"}, CacheTTLSeconds: 0, LogRetentionDays: 7,
		RemovalPolicy: Retain, Examples: Examples{All: true}, Throttle: Throttle{RatePerSecond: 100, Burst: 200},
		GatewayLogRole: true,
		Domain:         &Domain{Name: "example.com", CertificateARN: "arn:aws:acm:eu-west-1:123456789012:certificate/ab-2"},
		Environment:    map[string]string{"FROM": "1", "TO": "2"},
		Secrets:        map[string]Secret{"x": {Secret: "there"}, "y": {Secret: "elsewhere"}},
		Functions:      map[string]string{"quote": "arn:aws:lambda:eu-west-1:123456789012:function:quote:live"},
	}
	// A map entry is replaced, not filled up: y would lie in two places.
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("stage (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	stage := func(text string) string { return `{"name":"tools","stages":{"dev":{` + text + `}}}` }
	for name, test := range map[string]struct{ text, want string }{
		"no JSON":   {`{`, "JSON"},
		"no stages": {`{}`, "stages"},
		"unknown stage": {`{"name":"x","stages":{"prod":{},"deve":{}}}`,
			`there is no stage "dev" (did you mean "deve"?); allowed: deve, prod`},
		"unknown setting": {stage(`"orgins":[]`), `did you mean "origins"?`},
		"wrong case":      {stage(`"Origins":[]`), `"origins"`},
		"the server's own secret": {stage(`"secrets":{"x":{"secret":"tools-dev/seal-keys"}}`),
			`the secret "x" lies in tools-dev/seal-keys, which is the server's own`},
		"its ARN": {stage(`"secrets":{"x":{"secret":` +
			`"arn:aws:secretsmanager:eu-west-1:123456789012:secret:tools-dev/seal-keys-AbCdEf"}}`), `the server's own`},
		"wrong type":     {stage(`"examples":"yes"`), `stages.dev.examples: "yes"`},
		"no example":     {stage(`"examples":[]`), `stages.dev.examples`},
		"example twice":  {stage(`"examples":["a","a"]`), `stages.dev.examples`},
		"null":           {stage(`"domain":null`), `stages.dev.domain`},
		"removal policy": {stage(`"removalPolicy":"keep"`), `"retain", "destroy"`},
		"retention":      {stage(`"logRetentionDays":31`), `3653`},
		"call too long":  {stage(`"maxCallSeconds":901`), `900`},
		"half a domain":  {stage(`"domain":{"name":"a.example"}`), `certificateArn`},
		"no topic":       {stage(`"alarmTopicArn":"alarms"`), `stages.dev.alarmTopicArn: "alarms"`},
		"secret nowhere": {stage(`"secrets":{"x":{}}`), `stages.dev.secrets.x`},
		"secret twice":   {stage(`"secrets":{"x":{"secret":"a","parameter":"b"}}`), `stages.dev.secrets.x`},
		"no qualifier":   {stage(`"functions":{"x":"arn:aws:lambda:eu-west-1:123456789012:function:x"}`), `functions.x`},
		"zones": {stage(`"networks":{"vpc":{"vpcId":"vpc-12345678","subnetIds":["subnet-12345678","subnet-12345679"],
			"availabilityZones":["eu-west-1a"],"securityGroupIds":["sg-12345678"]}}`), "1 availabilityZones for 2 subnetIds"},
		"burst":            {stage(`"throttle":{"ratePerSecond":10,"burst":5}`), "burst is 5, below ratePerSecond 10"},
		"stage name":       {`{"name":"x","stages":{"Dev":{}}}`, `Dev`},
		"tool in the name": {`{"name":"a-tool","stages":{"dev":{}}}`, `a-tool-dev has the word "tool" after a hyphen`},
		"aws in front": {`{"name":"aws-tools","stages":{"dev":{}}}`,
			`the name aws-tools-dev begins with "aws"`},
		"ssm in front":     {`{"name":"ssmart","stages":{"dev":{}}}`, `the name ssmart-dev begins with "ssm"`},
		"server name":      {`{"name":"Tools","stages":{"dev":{}}}`, `"Tools"`},
		"no name possible": {`{"stages":{"dev":{}}}`, `the name "-1" in server.json makes no name on AWS`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(test.text), "dev", "-1")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %s", err, test.want)
			}
		})
	}
}

// The schema and the type say the same names.
func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	everything := `{"stages":{"dev":{
		"domain":{"name":"a.example","certificateArn":"arn:aws:acm:eu-west-1:123456789012:certificate/a","hostedZoneId":"Z1"},
		"gatewayLogRole":false,
		"origins":["https://a.example"],"cacheTtlSeconds":1,"maxCallSeconds":2,"logRetentionDays":3,
		"alarmTopicArn":"arn:aws:sns:eu-west-1:123456789012:alarms","removalPolicy":"destroy",
		"networks":{"vpc":{"vpcId":"vpc-12345678","subnetIds":["subnet-12345678"],"availabilityZones":["eu-west-1a"],
			"securityGroupIds":["sg-12345678"]}},
		"throttle":{"ratePerSecond":4,"burst":5},"environment":{"AB":"1"},"secrets":{"x":{"parameter":"/p"}},
		"functions":{"f":"arn:aws:lambda:eu-west-1:123456789012:function:f:1"},"examples":true}}}`
	got, err := Parse([]byte(everything), "dev", "tools")
	if err != nil {
		t.Fatal(err)
	}
	want := &Stage{
		Name: "dev", Server: "tools",
		Domain:  &Domain{"a.example", "arn:aws:acm:eu-west-1:123456789012:certificate/a", "Z1"},
		Origins: []string{"https://a.example"}, CacheTTLSeconds: 1, MaxCallSeconds: 2, LogRetentionDays: 3,
		AlarmTopicARN: "arn:aws:sns:eu-west-1:123456789012:alarms", RemovalPolicy: Destroy,
		Networks: Networks{VPC: &VPC{"vpc-12345678", []string{"subnet-12345678"}, []string{"eu-west-1a"},
			[]string{"sg-12345678"}}},
		Throttle: Throttle{4, 5}, Environment: map[string]string{"AB": "1"},
		Secrets:   map[string]Secret{"x": {Parameter: "/p"}},
		Functions: map[string]string{"f": "arn:aws:lambda:eu-west-1:123456789012:function:f:1"},
		Examples:  Examples{All: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stage (-want +got):\n%s", diff)
	}
}

func TestReadNamesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Read(filepath.Join(dir, "patchbay.json"), "", "tools"); err == nil ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing file: %v", err)
	}
	file := filepath.Join(dir, "patchbay.json")
	if err := os.WriteFile(file, []byte(`{"stages":{"dev":{"x":1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, "", "tools"); err == nil || !strings.HasPrefix(err.Error(), "patchbay.json: ") {
		t.Errorf("a wrong file: %v", err)
	}
}

// The repository's own settings are right in every stage.
func TestTheRepositorysSettings(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"", "prod", "examples", "secured"} {
		if _, err := Read(filepath.Join("..", "patchbay.json"), stage, "patchbay-examples"); err != nil {
			t.Error(err)
		}
	}
}
