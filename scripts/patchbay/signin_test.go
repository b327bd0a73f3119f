package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localstack"
	"patchbay/shared/authorization"
)

// local parses flags as patchbay local does, and returns the options that come of them.
func local(t *testing.T, args ...string) (localstack.Options, error) {
	t.Helper()
	var who callers
	var options localstack.Options
	command := &cobra.Command{
		Use: "local", Args: who.arguments, SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return who.apply(&options) },
	}
	who.flags(command)
	command.SetArgs(args)
	err := command.Execute()
	return options, err
}

func TestFlagsOfCallers(t *testing.T) {
	t.Parallel()
	issuers := write(t, `{"issuers":[{"issuer":"https://login.example.com"}]}`)
	people := write(t, `{"ada-token":{"subject":"ada"}}`)
	for name, test := range map[string]struct {
		args  []string
		check func(localstack.Options) bool
	}{
		"none": {nil, func(o localstack.Options) bool {
			return o.Auth == "" && o.Authorization == nil && o.Principals == nil
		}},
		"--auth": {[]string{"--auth"}, func(o localstack.Options) bool { return o.Auth == localstack.AuthGeneric }},
		"--auth=cognito": {
			[]string{"--auth=cognito", "--auth-addr", "127.0.0.1:9"},
			func(o localstack.Options) bool {
				return o.Auth == localstack.AuthCognito && o.AuthServer.Addr == "127.0.0.1:9"
			},
		},
		"--authorization": {[]string{"--authorization", issuers}, func(o localstack.Options) bool {
			return o.Auth == "" && o.Authorization.Issuers[0].URL == "https://login.example.com"
		}},
		"--principals": {[]string{"--principals", people}, func(o localstack.Options) bool { return len(o.Principals) == 1 }},
	} {
		got, err := local(t, test.args...)
		if err != nil || !test.check(got) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestFlagsOfCallersThatSayTooMuch(t *testing.T) {
	t.Parallel()
	bad := write(t, `{"issuers":[]}`)
	people := write(t, `{"ada-token":{"subject":"ada"}}`)
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"two":                      {[]string{"--auth", "--principals", people}, "give one of them"},
		"two others":               {[]string{"--authorization", bad, "--principals", people}, "give one of them"},
		"two more":                 {[]string{"--auth=cognito", "--authorization", bad}, "give one of them"},
		"the kind as an argument":  {[]string{"--auth", "cognito"}, "--auth=cognito"},
		"an argument":              {[]string{"cognito"}, "takes no arguments"},
		"no issuer in the file":    {[]string{"--authorization", bad}, "issuers"},
		"no file":                  {[]string{"--authorization", "/nowhere.json"}, "/nowhere.json"},
		"a configuration's member": {[]string{"--authorization", people}, "ada-token"},
	} {
		if _, err := local(t, test.args...); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; want an error that says %s", name, err, test.says)
		}
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "callers.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whoever starts the stack learns all that it takes to sign in.
func TestSignInHelp(t *testing.T) {
	t.Parallel()
	const url, issuer = "http://127.0.0.1:8787/mcp", "http://127.0.0.1:9000"
	stack := &localstack.Stack{
		URL: url, Authorization: &authorization.Config{Issuers: []authorization.Issuer{{URL: issuer}}},
		AuthServer: &localauth.Server{Issuer: issuer, Users: []localauth.User{
			{Name: "ada", Password: "one-secret", Scopes: []string{"mail:read", "mail:send"}},
			{Name: "bob", Password: "another"},
		}, Machine: localauth.Machine{ClientID: "machine", Secret: "a-third", Scopes: []string{"mail:read"}}},
	}
	help := signInHelp(stack)
	for _, want := range []string{
		issuer, "user ada, password one-secret, may have: mail:read mail:send",
		"user bob, password another, may have: no scopes",
		inspector + " --server-url " + url, "WWW-Authenticate",
		issuer + "/token -u machine:a-third", "-d resource=" + url + " -d 'scope=mail:read'",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("the help says nothing of %q:\n%s", want, help)
		}
	}
	stack.AuthServer = nil
	if help := signInHelp(stack); !strings.Contains(help, issuer) || strings.Contains(help, "password") {
		t.Errorf("help for a server that runs elsewhere:\n%s", help)
	}
}
