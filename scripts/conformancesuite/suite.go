// Package conformancesuite runs the official MCP conformance suite against an endpoint and judges what it finds.
//
// The suite knows failures and passes; this package also knows which failures are expected, and why: they are listed
// in expected-*.json. A failure that is not listed is one too many, and so is a listed one that passes, since the
// list would then hide the next regression.
package conformancesuite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"patchbay/scripts/nodemodules"
)

// Revision is the requirement set that runs when Options name none.
const Revision = "2026-07-28"

// Options say what is tested.
type Options struct {
	// URL is the MCP endpoint.
	URL string
	// NodeModules is the folder with the suite and the Node that runs it.
	NodeModules string
	// Revision names the suite's requirement set, a protocol revision; "" is Revision.
	Revision string
	// Out gets the table, what was unexpected, and the counts as the last line.
	Out io.Writer
}

// ErrUnexpected is wrapped by Run's error when the suite ran and its outcome is not what the list of expected
// failures says.
var ErrUnexpected = errors.New("conformance is not as expected")

// Run runs the suite and prints its outcome. It returns an error that wraps ErrUnexpected when a check failed that is
// not expected to, or an expected failure passed; any other error means that the suite could not run.
func Run(ctx context.Context, o Options) error {
	if o.Revision == "" {
		o.Revision = Revision
	}
	expected, err := loadExpected(o.Revision)
	if err != nil {
		return err
	}
	scenarios, err := runSuite(ctx, o)
	if err != nil {
		return err
	}
	verdict := judge(scenarios, expected)
	if err := verdict.print(o.Out); err != nil {
		return fmt.Errorf("printing the conformance table: %w", err)
	}
	return verdict.err()
}

// scenario is one scenario of the suite and its checks, in the order in which they ran.
type scenario struct {
	name   string
	checks []check
}

// check is one line of a scenario's checks.json.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// Statuses of a check. Others (SKIPPED, INFO) count for nothing, as in the suite.
const (
	statusSuccess = "SUCCESS"
	statusFailure = "FAILURE"
	statusWarning = "WARNING"
)

// runSuite runs the suite on the Node that package.json pins.
func runSuite(ctx context.Context, o Options) ([]scenario, error) {
	node := nodemodules.Node(o.NodeModules)
	suite := filepath.Join(o.NodeModules, "@modelcontextprotocol/conformance/dist/index.js")
	for _, file := range []string{node, suite} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("finding the conformance suite: %w", err)
		}
	}
	results, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the suite's results: %w", err)
	}
	defer os.RemoveAll(results)

	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, node, suite, "server", "--url", o.URL, "--requirements", o.Revision, "-o", results)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	// The suite's own exit status says that something failed, which is judged here by the results.
	failure := cmd.Run()
	scenarios, err := readResults(results, stdout.String())
	if err != nil || len(scenarios) == 0 {
		return nil, fmt.Errorf("running the conformance suite: %w: %s", errors.Join(err, failure), tail(stderr.String()))
	}
	return scenarios, nil
}

func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-most):]
}

var (
	announcement = regexp.MustCompile(`(?m)^=== Running scenario: (\S+) ===$`)
	resultFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
)

// readResults returns the scenarios that the suite announced, with the checks that it left in the results folder. A
// scenario without results is an error: a suite that died half-way must not look like one that passed.
func readResults(folder, announced string) ([]scenario, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the suite's results: %w", err)
	}
	folders := map[string]string{}
	for _, entry := range entries {
		if match := resultFolder.FindStringSubmatch(entry.Name()); match != nil {
			folders[match[1]] = filepath.Join(folder, entry.Name())
		}
	}
	var scenarios []scenario
	for _, match := range announcement.FindAllStringSubmatch(announced, -1) {
		name := match[1]
		if folders[name] == "" {
			return nil, fmt.Errorf("scenario %s left no results", name)
		}
		checks, err := readChecks(filepath.Join(folders[name], "checks.json"))
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		scenarios = append(scenarios, scenario{name, checks})
	}
	return scenarios, nil
}

func readChecks(file string) ([]check, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading checks: %w", err)
	}
	var checks []check
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("decoding checks: %w", err)
	}
	return checks, nil
}
