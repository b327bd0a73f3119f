package secret_test

import (
	"strings"
	"testing"

	"patchbay/shared/secret"
)

func TestOpenFile(t *testing.T) {
	t.Parallel()
	path := string(file(t, `{"a": "one"}`))
	secrets, err := secret.Open(func(name string) string { return map[string]string{"PATCHBAY_SECRETS_FILE": path}[name] })
	if err != nil {
		t.Fatal(err)
	}
	get(t, secrets, "a", "one")
}

// What a deployment got wrong stops the tool at its start, with the variable's name and never its value.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"a":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:a-AbCdEf"}`
	for name, test := range map[string]struct {
		environment map[string]string
		want        []string
	}{
		"nothing": {nil, []string{"PATCHBAY_SECRETS is not set", "PATCHBAY_SECRETS_FILE"}},
		"both": {
			map[string]string{"PATCHBAY_SECRETS": good, "PATCHBAY_SECRETS_FILE": "/hunter2"},
			[]string{"PATCHBAY_SECRETS and PATCHBAY_SECRETS_FILE"},
		},
		"no region": {map[string]string{"PATCHBAY_SECRETS": good}, []string{"AWS_REGION is not set"}},
		"no JSON":   {map[string]string{"PATCHBAY_SECRETS": "hunter2"}, []string{"PATCHBAY_SECRETS is not a JSON object"}},
		"null":      {map[string]string{"PATCHBAY_SECRETS": "null"}, []string{"PATCHBAY_SECRETS is not a JSON object"}},
		"no strings": {
			map[string]string{"PATCHBAY_SECRETS": `{"a":{"hunter2":1}}`}, []string{"PATCHBAY_SECRETS is not a JSON object"},
		},
		"a value": {
			map[string]string{"PATCHBAY_SECRETS": `{"token":"hunter2"}`},
			[]string{`PATCHBAY_SECRETS: the value of "token" is not the ARN`, "arn:aws:ssm:REGION:ACCOUNT:parameter/NAME"},
		},
		"another service": {
			map[string]string{"PATCHBAY_SECRETS": `{"token":"arn:aws:s3:eu-west-1:123456789012:hunter2"}`},
			[]string{`the value of "token" is not the ARN`},
		},
		"no resource": {
			map[string]string{"PATCHBAY_SECRETS": `{"token":"arn:aws:ssm:eu-west-1:123456789012:parameter/"}`},
			[]string{`the value of "token" is not the ARN`},
		},
		"no account": {
			map[string]string{"PATCHBAY_SECRETS": `{"token":"arn:aws:ssm:eu-west-1::parameter/hunter2"}`},
			[]string{`the value of "token" is not the ARN`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := secret.Open(func(name string) string { return test.environment[name] })
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error = %v, want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter") {
				t.Errorf("error = %v repeats a value", err)
			}
		})
	}
}
