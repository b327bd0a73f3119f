package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/evaluate"
	"patchbay/scripts/mcpcall"
	"patchbay/shared/contract"
)

// toolEval is what the command line of `tool eval` says.
type toolEval struct {
	endpoint

	functions, chosen, junit string
	writes, noSkip, asJSON   bool
	timeout                  time.Duration
}

func toolEvalCommand() *cobra.Command {
	var eval toolEval
	command := &cobra.Command{
		Use:   "eval [FILE...]",
		Short: "Run recorded calls and compare what comes back",
		Long: `Runs the calls that are recorded in files of the form that docs/eval.md describes, against the running local
stack or any MCP server, and compares what comes back with what was written down. Without FILE it runs eval.yaml of
every tool; FILE may also be the folder of a tool, or its name.

With --url only cases run that call nothing but tools that say that they only read; --writes runs all. Cases that this
caller may not run are skipped and told. The exit code is 1 when a case fails or a file is wrong.`,
		Example: `  patchbay tool eval
  patchbay tool eval get_weather --json
  patchbay tool eval --url https://mcp.example.com/mcp --token-env STAGING_TOKEN --junit report.xml`,
		RunE: func(cmd *cobra.Command, args []string) error { return eval.run(cmd, args) },
	}
	eval.flags(command)
	flags := command.Flags()
	flags.StringVar(&eval.functions, "functions", "", "the folder of functions (default functions in the module)")
	flags.StringVar(&eval.chosen, "run", "", "only cases whose names match this regular expression")
	flags.BoolVar(&eval.writes, "writes", false, "with --url, run also cases that call tools that change something")
	flags.BoolVar(&eval.noSkip, "no-skip", false, "let the run fail when a case was skipped")
	flags.DurationVar(&eval.timeout, "timeout", 2*time.Minute, "how long one call may take")
	flags.StringVar(&eval.junit, "junit", "", "write the report to this file, too, as JUnit does for CI systems")
	flags.BoolVar(&eval.asJSON, "json", false, "write JSON")
	command.ValidArgsFunction = completeTools(&eval.root, "functions")
	return command
}

func (e *toolEval) run(cmd *cobra.Command, args []string) error {
	options := evaluate.Options{Writes: e.url == "" || e.writes, Timeout: e.timeout}
	if e.chosen != "" {
		pattern, err := regexp.Compile(e.chosen)
		if err != nil {
			return usageError{fmt.Errorf("--run: %w", err)}
		}
		options.Chosen = pattern.MatchString
	}
	if err := e.defaults(args); err != nil {
		return err
	}
	files, err := e.files(args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	client, err := e.connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer client.Close()
	options.Permissions = e.permissions()
	if options.ReadOnly, err = readOnly(ctx, client); err != nil {
		return err
	}
	var unwritten error
	if !e.asJSON {
		options.Tell = func(file evaluate.File, c evaluate.CaseReport) {
			unwritten = errors.Join(unwritten, evaluate.WriteCase(cmd.OutOrStdout(), file, c))
		}
	}
	report, err := evaluate.Run(ctx, client, files, options)
	if err != nil {
		return err
	}
	return errors.Join(unwritten, e.conclude(cmd, report))
}

// defaults finds the folder of functions. Whoever names files, and a server, needs none.
func (e *toolEval) defaults(args []string) error {
	if e.functions != "" {
		return nil
	}
	module, err := moduleRoot(e.root)
	if err != nil && len(args) > 0 && e.url != "" {
		return nil
	}
	e.functions = filepath.Join(module, "functions")
	return err
}

// files reads the files that are named, or those of all tools. All that is wrong with any is told before a call is
// made.
func (e *toolEval) files(args []string) ([]evaluate.File, error) {
	paths, err := e.paths(args)
	if err != nil {
		return nil, err
	}
	var files []evaluate.File
	var faults []error
	for _, path := range paths {
		file, err := evaluate.ReadFile(fromHere(path))
		files, faults = append(files, file), append(faults, err)
	}
	return files, errors.Join(faults...)
}

// fromHere is a path as somebody would write it who stands here, if the file is below.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(here, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}

func (e *toolEval) paths(args []string) ([]string, error) {
	if len(args) == 0 {
		paths, err := filepath.Glob(filepath.Join(e.functions, "*", evaluate.FileName))
		if err == nil && len(paths) == 0 {
			err = fmt.Errorf("no folder in %s has an %s; docs/eval.md tells how to write one", e.functions, evaluate.FileName)
		}
		return paths, err
	}
	var paths []string
	for _, arg := range args {
		path, err := e.path(arg)
		if err != nil {
			return nil, usageError{err}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// path finds a file by its name, by its folder's, or by that of a folder of functions.
func (e *toolEval) path(arg string) (string, error) {
	tried := []string{arg, filepath.Join(arg, evaluate.FileName)}
	if e.functions != "" && !strings.ContainsRune(arg, filepath.Separator) {
		// A tool's folder cannot have the dot that its name may have.
		folder := strings.ReplaceAll(arg, ".", "_")
		tried = append(tried, filepath.Join(e.functions, folder, evaluate.FileName))
	}
	for _, path := range tried {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return path, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("looking for recorded calls: %w", err)
		}
	}
	return "", fmt.Errorf("%s: no such file, nor a folder with an %s; looked for %s", arg, evaluate.FileName,
		strings.Join(tried, ", "))
}

// permissions are what tools ask for, as far as their contracts are here; what is wrong with them is not for this
// command to say.
func (e *toolEval) permissions() map[string][]string {
	permissions := map[string][]string{}
	set, _ := contract.LoadDir(e.functions)
	if set == nil {
		return permissions
	}
	for _, tool := range set.Tools {
		permissions[tool.Name] = tool.Contract.Permissions
	}
	return permissions
}

// readOnly are the tools that the server lists, and whether they say that they only read.
func readOnly(ctx context.Context, client *mcpcall.Client) (map[string]bool, error) {
	tools, err := client.Tools(ctx)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, tool := range tools {
		listed[tool.Name] = tool.Annotations != nil && tool.Annotations.ReadOnlyHint
	}
	return listed, nil
}

// conclude writes the reports, and makes an error of what failed.
func (e *toolEval) conclude(cmd *cobra.Command, report evaluate.Report) error {
	if len(report.Tools) == 0 {
		return fmt.Errorf("no case has a name that matches %q", e.chosen)
	}
	if e.junit != "" {
		var text bytes.Buffer
		if err := report.WriteJUnit(&text); err != nil {
			return err
		}
		if err := os.WriteFile(e.junit, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing the JUnit report: %w", err)
		}
	}
	var err error
	if e.asJSON {
		err = writeJSON(cmd.OutOrStdout(), report)
	} else {
		fmt.Fprintln(cmd.OutOrStdout())
		err = report.WriteTable(cmd.OutOrStdout())
	}
	all := report.Passed + report.Failed + report.Skipped
	switch {
	case err != nil:
		return err
	case report.Failed > 0:
		return fmt.Errorf("%d of %d cases failed", report.Failed, all)
	case e.noSkip && report.Skipped > 0:
		return fmt.Errorf("%d of %d cases were skipped, and --no-skip is given", report.Skipped, all)
	}
	return nil
}
