package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"patchbay/infra/cdk/settings"
	"patchbay/scripts/lint"
	"patchbay/shared/contract"
	"patchbay/shared/version"
)

// lintOptions are the flags of tool lint.
type lintOptions struct {
	root, functions, app, stage string
	sarif, explain              string
	json, rules, strict, all    bool
}

func toolLintCommand() *cobra.Command {
	var o lintOptions
	command := &cobra.Command{
		Use:   "lint [NAME...]",
		Short: "Check contracts, and say what would confuse a model or break a client",
		Long: `Looks at every tool.json and at server.json: first whatever would stop a tool from being built or published,
which are errors; then what model APIs and hosts do not take, what makes models choose badly, hints that contradict the
contract, and what the definitions cost of a model's context, which are warnings. Each finding has its place, what is
wrong, what is allowed, and why it matters, with the source of that.

With NAMEs, of tools or their folders, only their findings are shown; all tools are looked at in any case, since some
faults are between two of them. Warnings are suppressed in the contract, with a reason; docs/tool-json.md says how.

Exit codes: 0 nothing but warnings, 1 errors (with --strict also warnings), 2 the command itself was wrong.`,
		Example: `  patchbay tool lint
  patchbay tool lint send_notice --strict
  patchbay tool lint --sarif lint.sarif
  patchbay tool lint --explain name-near`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return usageError{err}
			}
			if o.rules || o.explain != "" {
				return o.explainRules(cmd.OutOrStdout())
			}
			return o.run(cmd.OutOrStdout(), args)
		},
	}
	command.ValidArgsFunction = completeTools(&o.root, "functions")
	flags := command.Flags()
	flags.StringVar(&o.functions, "functions", "", "the folder of the tools (default functions in the module)")
	flags.BoolVar(&o.json, "json", false, "write JSON, suppressed findings included")
	flags.StringVar(&o.sarif, "sarif", "", "write SARIF 2.1.0 to this file, for code reviews and editors; - for "+
		"standard output")
	flags.StringVar(&o.explain, "explain", "", "say all about a check: what, why, source and examples; \"all\" for "+
		"every one")
	flags.BoolVar(&o.rules, "rules", false, "list all checks")
	flags.BoolVar(&o.strict, "strict", false, "fail on warnings, too")
	flags.BoolVar(&o.all, "all", false, "show what is suppressed, too, with the reasons")
	flags.StringVar(&o.stage, "stage", "", "hold time-outs to the maxCallSeconds of this stage in patchbay.json")
	flags.StringVar(&o.app, "app", "", "the folder with patchbay.json (default infra/cdk in the module)")
	rootFlag(command, &o.root)
	complete := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return ruleIDs(), cobra.ShellCompDirectiveNoFileComp
	}
	if err := command.RegisterFlagCompletionFunc("explain", complete); err != nil {
		panic("completing the ids of checks: " + err.Error())
	}
	return command
}

func ruleIDs() []string {
	var ids []string
	for _, rule := range lint.Rules() {
		ids = append(ids, rule.ID)
	}
	return ids
}

// check refuses what does not go together.
func (o *lintOptions) check(names []string) error {
	explains := o.rules || o.explain != ""
	switch {
	case explains && (len(names) > 0 || o.sarif != ""):
		return errors.New("--rules and --explain tell of the checks alone; allowed beside them: --json")
	case o.rules && o.explain != "":
		return errors.New("--rules and --explain are two commands; allowed: one of them")
	case o.json && o.sarif == "-":
		return errors.New("--json and --sarif - both write to standard output; allowed: one of them")
	case o.app != "" && o.stage == "":
		return errors.New("--app says where the settings of a stage are; name the stage with --stage")
	}
	return nil
}

func (o *lintOptions) run(out io.Writer, names []string) error {
	module, err := moduleRoot(o.root)
	if err != nil {
		return err
	}
	if o.functions == "" {
		o.functions = filepath.Join(module, "functions")
	}
	limits, err := o.limits(module)
	if err != nil {
		return err
	}
	report, err := lint.Run(o.functions, lint.Options{Tools: names, Limits: limits})
	if err != nil {
		return err
	}
	if report.Tools == 0 && report.Errors == 0 {
		return fmt.Errorf("%s has no tools; a tool is a folder with a tool.json", o.functions)
	}
	if err := o.write(out, module, report); err != nil {
		return err
	}
	return o.verdict(report)
}

// limits are those of the stage that is named, else none.
func (o *lintOptions) limits(module string) (contract.ServerLimits, error) {
	if o.stage == "" {
		return contract.ServerLimits{}, nil
	}
	app := o.app
	if app == "" {
		app = filepath.Join(module, "infra", "cdk")
	}
	stage, err := settings.Read(filepath.Join(app, "patchbay.json"), o.stage, "")
	if err != nil {
		return contract.ServerLimits{}, err
	}
	return contract.ServerLimits{MaxCallSeconds: stage.MaxCallSeconds}, nil
}

// write writes the report in every form that was asked for. Programs get paths from the module's root, which is what
// reviews know; people get them from where they stand.
func (o *lintOptions) write(out io.Writer, module string, report lint.Report) error {
	fromModule, err := report.From(module)
	if err != nil {
		return err
	}
	if o.sarif == "-" {
		return fromModule.WriteSARIF(out, version.Version)
	}
	if o.sarif != "" {
		if err := writeSARIF(o.sarif, fromModule); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(out, fromModule)
	}
	fromHere, err := report.From(".")
	if err != nil {
		return err
	}
	return fromHere.Write(out, o.style(out))
}

func writeSARIF(name string, report lint.Report) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing SARIF: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return report.WriteSARIF(file, version.Version)
}

// style is that of a terminal, if the output is one.
func (o *lintOptions) style(out io.Writer) lint.Style {
	style := lint.Style{Suppressed: o.all, Colour: coloured(out)}
	if file, isFile := out.(*os.File); isFile {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			style.Columns = columns
		}
	}
	return style
}

// verdict is the error by which the command fails.
func (o *lintOptions) verdict(report lint.Report) error {
	switch {
	case report.Errors > 0:
		return fmt.Errorf("what was found has to be put right: %d of it are errors", report.Errors)
	case o.strict && report.Warnings > 0:
		return fmt.Errorf("--strict takes no warnings, and %d were found", report.Warnings)
	}
	return nil
}

// shownRule is a check as --json shows it.
type shownRule struct {
	ID       string            `json:"id"`
	Severity contract.Severity `json:"severity"`
	What     string            `json:"what"`
	Why      string            `json:"why"`
	Source   string            `json:"source"`
	Place    string            `json:"place,omitempty"`
	Wrong    string            `json:"wrong"`
	Right    string            `json:"right"`
}

func (o *lintOptions) explainRules(out io.Writer) error {
	rules := lint.Rules()
	if o.explain != "" && o.explain != "all" {
		rule, known := lint.Explain(o.explain)
		if !known {
			return usageError{unknownRule(o.explain)}
		}
		rules = []lint.Rule{rule}
	}
	if o.json {
		shown := make([]shownRule, len(rules))
		for i, r := range rules {
			shown[i] = shownRule{r.ID, r.Severity, r.What, r.Why, r.Source, r.Place, r.Wrong, r.Right}
		}
		return writeJSON(out, shown)
	}
	if o.rules {
		return lint.WriteRules(out, rules)
	}
	for i, rule := range rules {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := rule.Write(out, o.style(out)); err != nil {
			return fmt.Errorf("writing a rule: %w", err)
		}
	}
	return nil
}

func unknownRule(id string) error {
	var alike []string
	for _, known := range ruleIDs() {
		if word, _, _ := strings.Cut(id, "-"); strings.HasPrefix(known, word+"-") {
			alike = append(alike, known)
		}
	}
	switch near := lint.NearRule(id); {
	case near != "":
		return fmt.Errorf("--explain %s: there is no such check; did you mean %s?", id, near)
	case len(alike) > 0:
		return fmt.Errorf("--explain %s: there is no such check; those that begin alike: %s", id, strings.Join(alike, ", "))
	}
	return fmt.Errorf("--explain %s: there is no such check; `tool lint --rules` lists them", id)
}
