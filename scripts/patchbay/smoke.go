package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"patchbay/scripts/smokecheck"
)

// smokeFlags are what the command line says, before it is checked.
type smokeFlags struct {
	headers                       []string
	arguments, streamingArguments string
	asJSON                        bool
}

func smokeCommand() *cobra.Command {
	var flags smokeFlags
	var options smokecheck.Options
	var root string
	command := &cobra.Command{
		Use:   "smoke URL",
		Short: "Check a running server from outside, in under a minute",
		Long: `Asks the server what it is and which tools it has, calls one that says that it only reads, looks at streaming,
at an earlier revision, and at the answers to requests that are wrong. Each check is one line: ok, failed or skipped.
The exit status is 1 when one failed. No tool is called that does not say that it only reads.

Of a server that asks for tokens, what a client without one finds out is checked first: the challenge, the metadata of
the resource and of its authorization servers, the preflight of a page. With an access token the rest is, too. It is
taken from the variable PATCHBAY_TOKEN, or from --token, which a shell remembers.`,
		Example: "  patchbay smoke http://127.0.0.1:8787/mcp\n" +
			"  PATCHBAY_TOKEN=$(get-a-token) patchbay smoke https://mcp.example.com/mcp\n" +
			"  patchbay smoke https://mcp.example.com/mcp --origin https://app.example.com \\\n" +
			`    --tool get_weather --arguments '{"location":"Oslo"}'`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			options.URL = args[0]
			options.Arguments = json.RawMessage(flags.arguments)
			options.StreamingArguments = json.RawMessage(flags.streamingArguments)
			if options.Header, err = parseHeaders(flags.headers); err != nil {
				return err
			}
			if options.Token == "" {
				options.Token = os.Getenv("PATCHBAY_TOKEN")
			}
			return runSmoke(cmd, options, flags.asJSON)
		},
	}
	set := command.Flags()
	set.StringArrayVar(&flags.headers, "header", nil, "a header field of every request, as in 'X-Api-Key: …'; may be "+
		"repeated")
	set.StringVar(&options.Token, "token", "", "an access token (default the variable PATCHBAY_TOKEN)")
	set.StringVar(&options.Origin, "origin", "", "the origin of a web page that must be let in, as "+
		"https://app.example.com")
	set.StringVar(&options.Tool, "tool", "", "the tool to call (default the first that only reads and whose schema gives "+
		"arguments)")
	set.StringVar(&flags.arguments, "arguments", "", "the arguments of --tool, as one JSON object (default what its "+
		"schema gives)")
	set.StringVar(&options.StreamingTool, "streaming-tool", "", "a tool whose progress must be seen")
	set.StringVar(&flags.streamingArguments, "streaming-arguments", "", "the arguments of --streaming-tool")
	set.BoolVar(&flags.asJSON, "json", false, "write JSON")
	rootFlag(command, &root) // the launchers give it; nothing here needs it
	return command
}

func parseHeaders(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "" {
			return nil, errors.New("a --header is not of the form 'Name: value'") // not quoted: it may be a token
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return header, nil
}

func runSmoke(cmd *cobra.Command, options smokecheck.Options, asJSON bool) error {
	out := cmd.OutOrStdout()
	var unwritten error
	tell := func(check smokecheck.Check) {
		if !asJSON {
			unwritten = errors.Join(unwritten, check.Write(out))
		}
	}
	report, err := smokecheck.Run(cmd.Context(), options, tell)
	if err != nil {
		return err
	}
	if asJSON {
		unwritten = writeJSON(out, report)
	}
	if failed := report.Failed(); failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(report.Checks))
	}
	return unwritten
}
