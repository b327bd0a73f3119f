package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/localstack"
	"patchbay/shared/authorization"
)

// callers are the flags of the local stack that say who may call; without one everybody may.
type callers struct {
	auth, authAddr            string
	authorization, principals string
}

func (c *callers) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&c.auth, "auth", "", "start an authorization server, with two users, and take its access tokens: "+
		"--auth for one that has all that MCP asks for, --auth=cognito for one with the gaps of an Amazon Cognito user pool")
	flags.Lookup("auth").NoOptDefVal = localstack.AuthGeneric
	flags.StringVar(&c.authAddr, "auth-addr", "127.0.0.1:0", "where the authorization server of --auth listens, "+
		"HOST:PORT; port 0 is any free one. The server remembers nothing between starts: by a new address clients know "+
		"that they have to register again")
	flags.StringVar(&c.authorization, "authorization", "", "a JSON file that says whose access tokens are taken, "+
		"{\"issuers\": [{\"issuer\": \"https://…\"}] …}, of an authorization server that runs elsewhere")
	flags.StringVar(&c.principals, "principals", "", "a JSON file of callers by bearer token, {\"TOKEN\": {\"subject\", "+
		"\"scopes\": [] …}}: only they may call (default everybody may, as nobody in particular)")
}

// arguments refuses arguments, the one above all that somebody takes for the value of --auth.
func (c *callers) arguments(command *cobra.Command, args []string) error {
	if len(args) > 0 && c.auth != "" {
		return fmt.Errorf("%q is no argument of %s; a kind of authorization server is named as in --auth=%s",
			args[0], command.CommandPath(), localstack.AuthCognito)
	}
	return takes(0, 0)(command, args)
}

// apply reads the files and sets the options.
func (c *callers) apply(options *localstack.Options) (err error) {
	var given []string
	for flag, value := range map[string]string{
		"--auth": c.auth, "--authorization": c.authorization, "--principals": c.principals,
	} {
		if value != "" {
			given = append(given, flag)
		}
	}
	if len(given) > 1 {
		return usageError{errors.New("--auth, --authorization and --principals each say who may call; give one of them")}
	}
	switch {
	case c.auth != "":
		options.Auth, options.AuthServer.Addr = c.auth, c.authAddr
	case c.authorization != "":
		options.Authorization, err = authorization.ReadFile(c.authorization)
	case c.principals != "":
		options.Principals, err = localgateway.ReadPrincipals(c.principals)
	}
	return err
}

// inspector is the MCP Inspector's command, with its version pinned.
const inspector = "npx -y @modelcontextprotocol/inspector@2.12.0"

// signInHelp tells how to sign in, for whoever reads the terminal.
func signInHelp(stack *localstack.Stack) string {
	help := &strings.Builder{}
	help.WriteString(`
Callers need an access token. A client needs only the URL: it finds out by itself where to sign in.

`)
	for _, issuer := range stack.Authorization.Issuers {
		fmt.Fprintf(help, "  authorization server: %s\n", issuer.URL)
	}
	if stack.AuthServer != nil {
		for _, user := range stack.AuthServer.Users {
			fmt.Fprintf(help, "  user %s, password %s, may have: %s\n", user.Name, user.Password, listed(user.Scopes))
		}
	}
	fmt.Fprintf(help, `
Sign in with the MCP Inspector:

  %s --server-url %s --transport http --protocol-era modern
`, inspector, stack.URL)
	if stack.AuthServer != nil {
		help.WriteString(machineHelp(stack))
	}
	fmt.Fprintf(help, `
Without a token every request is answered with 401 and the field from which a client goes on:

  curl -si %s | grep -i '^www-authenticate'
  WWW-Authenticate: %s

Stop with Ctrl-C.
`, stack.URL, stack.Challenge())
	return help.String()
}

// machineHelp tells how a program without a person gets a token: for curl, and for the check that needs one.
func machineHelp(stack *localstack.Stack) string {
	machine := stack.AuthServer.Machine
	scopes := stack.Authorization.Issuers[0].AskAll(machine.Scopes)
	return fmt.Sprintf(`
A program gets a token of its own, with which it may call all but tools that want a person's sign-in:

  export PATCHBAY_TOKEN=$(curl -s %s -u %s:%s \
    -d grant_type=client_credentials -d resource=%s -d 'scope=%s' |
    sed 's/.*"access_token":"\([^"]*\)".*/\1/')
  curl … -H "Authorization: Bearer $PATCHBAY_TOKEN"
  go tool patchbay smoke %s
`, stack.AuthServer.TokenEndpoint(), machine.ClientID, machine.Secret, stack.URL, strings.Join(scopes, " "), stack.URL)
}

func listed(scopes []string) string {
	if len(scopes) == 0 {
		return "no scopes"
	}
	return strings.Join(scopes, " ")
}
