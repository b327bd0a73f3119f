package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"patchbay/scripts/lint"
	"patchbay/scripts/localstack"
	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
	"patchbay/scripts/scaffold"
	"patchbay/shared/contract"
)

// toolList is what the command line of `tool list` says.
type toolList struct {
	at                        where
	functions, category, risk string
	asJSON                    bool
}

func toolListCommand() *cobra.Command {
	var list toolList
	command := &cobra.Command{
		Use:   "list",
		Short: "List the tools of the catalogue",
		Long: `Lists the tools that the running local stack, or a deployment, has in its catalogue: those too that are hidden
from some callers or from all. With --functions, or where no local stack is running, the contracts of a folder are
listed as they are now. TOKENS are what the tool takes of a model's context by the tokenizer o200k_base, whose numbers
are near those of other models, but not theirs.`,
		Example: `  patchbay tool list --category baskets
  patchbay tool list --functions ./functions --risk critical
  patchbay tool list --deployment shop-prod --json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return list.run(cmd) },
	}
	list.at.flags(command)
	flags := command.Flags()
	flags.StringVar(&list.functions, "functions", "", "list the contracts of this folder instead of a catalogue")
	flags.StringVar(&list.category, "category", "", "only tools of this category")
	flags.StringVar(&list.risk, "risk", "", "only tools of this risk: "+strings.Join(scaffold.Risks, ", "))
	complete(command, "risk", scaffold.Risks)
	flags.BoolVar(&list.asJSON, "json", false, "write JSON")
	command.MarkFlagsMutuallyExclusive("functions", "deployment")
	return command
}

// shownTools is what is listed.
type shownTools struct {
	// From is where the tools are from: the folder, "local", or the deployment.
	From string `json:"from"`
	// Estimator names whose tokens are counted.
	Estimator string      `json:"estimator"`
	Tools     []shownTool `json:"tools"`
	// Tokens are those of all tools that are listed here.
	Tokens int `json:"tokens"`
}

type shownTool struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Category    string   `json:"category,omitempty"`
	Risk        string   `json:"risk"`
	ReadOnly    bool     `json:"readOnly"`
	Permissions []string `json:"permissions"`
	Visibility  string   `json:"visibility"`
	Disabled    bool     `json:"disabled"`
	// Function is the qualified ARN; of a contract in a folder, only that of a function that exists elsewhere.
	Function string `json:"function,omitempty"`
	// Source is who published the tool; empty for a folder.
	Source string `json:"source,omitempty"`
	// Tokens are those of the definition as clients get it.
	Tokens int `json:"tokens"`

	definition json.RawMessage
}

func (l *toolList) run(cmd *cobra.Command) error {
	if l.risk != "" && !slices.Contains(scaffold.Risks, l.risk) {
		return usageError{fmt.Errorf("--risk %s is none; allowed: %s", l.risk, strings.Join(scaffold.Risks, ", "))}
	}
	shown, err := l.read(cmd)
	if err != nil {
		return err
	}
	categories := shown.categories()
	shown.Tools = slices.DeleteFunc(shown.Tools, func(tool shownTool) bool {
		return l.category != "" && tool.Category != l.category || l.risk != "" && tool.Risk != l.risk
	})
	if l.category != "" && !slices.Contains(categories, l.category) {
		return fmt.Errorf("no tool is of the category %q; there are: %s", l.category, strings.Join(categories, ", "))
	}
	if err := shown.count(); err != nil {
		return err
	}
	if l.asJSON {
		return writeJSON(cmd.OutOrStdout(), shown)
	}
	return shown.write(cmd.OutOrStdout())
}

func (s *shownTools) categories() []string {
	var all []string
	for _, tool := range s.Tools {
		if tool.Category != "" && !slices.Contains(all, tool.Category) {
			all = append(all, tool.Category)
		}
	}
	slices.Sort(all)
	return all
}

// read reads a catalogue, or a folder where there is none.
func (l *toolList) read(cmd *cobra.Command) (*shownTools, error) {
	if l.functions != "" {
		return readFolder(l.functions)
	}
	var shown *shownTools
	act := operate.Act{Lever: "tool list"}
	err := l.at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, _ *operate.Act) error {
		var err error
		shown, err = readTools(ctx, target)
		return err
	})
	if !errors.Is(err, localstack.ErrNotRunning) || l.at.options.Data != "" {
		return shown, err
	}
	module, missing := moduleRoot(l.at.root)
	if missing != nil {
		return nil, missing
	}
	folder := filepath.Join(module, "functions")
	fmt.Fprintf(cmd.ErrOrStderr(), "no local stack is running, so these are the contracts in %s\n", folder)
	return readFolder(folder)
}

func readFolder(folder string) (*shownTools, error) {
	set, problems := contract.LoadDir(folder)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	shown := &shownTools{From: folder, Tools: []shownTool{}}
	for _, tool := range set.Tools {
		shown.add(tool, shownTool{Function: tool.Contract.Function.ARN})
	}
	return shown, nil
}

func readTools(ctx context.Context, target *operate.Target) (*shownTools, error) {
	publisher := newPublisher(target)
	history, err := publisher.History(ctx)
	if err != nil {
		return nil, err
	}
	shown := &shownTools{From: target.Name, Tools: []shownTool{}}
	for _, source := range history.Sources {
		if source.Live == nil {
			continue
		}
		publications, err := publisher.Contents(ctx, source.Source, source.Live.ID)
		if err != nil {
			return nil, err
		}
		for _, publication := range publications {
			shown.add(publication.Tool, shownTool{
				Function: publication.Function, Source: source.Source,
				Disabled: slices.Contains(history.Disabled, publication.Tool.Name),
			})
		}
	}
	slices.SortFunc(shown.Tools, func(a, b shownTool) int { return strings.Compare(a.Name, b.Name) })
	return shown, nil
}

// add adds a tool, of which what its definition and contract do not say is given.
func (s *shownTools) add(tool *contract.Tool, shown shownTool) {
	shown.Name, shown.Title, shown.Description = tool.Name, tool.Title, tool.Description
	shown.Category, shown.Risk = tool.Contract.Category, string(tool.Contract.Risk)
	shown.ReadOnly = tool.Annotations.ReadOnlyHint != nil && *tool.Annotations.ReadOnlyHint
	shown.Permissions = append([]string{}, tool.Contract.Permissions...)
	shown.Visibility = string(tool.Contract.Visibility)
	shown.definition = tool.Definition
	s.Tools = append(s.Tools, shown)
}

// count fills in the tokens.
func (s *shownTools) count() error {
	estimator := lint.O200kBase()
	s.Estimator = estimator.Name()
	for i, tool := range s.Tools {
		tokens, err := estimator.Count(string(tool.definition))
		if err != nil {
			return fmt.Errorf("counting the tokens of %s: %w", tool.Name, err)
		}
		s.Tools[i].Tokens = tokens
		s.Tokens += tokens
	}
	return nil
}

func (s *shownTools) write(out io.Writer) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tTITLE\tCATEGORY\tRISK\tTOKENS\tFUNCTION\tNOTES")
	for _, tool := range s.Tools {
		cells := []string{
			tool.Name, tool.Title, tool.Category, tool.Risk, fmt.Sprint(tool.Tokens), shortFunction(tool.Function), tool.notes(),
		}
		for i, cell := range cells {
			cells[i] = printable.Line(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("laying out the list: %w", err)
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n")) // the last column is mostly empty
	}
	if _, err := fmt.Fprintf(out, "tools: %d, tokens: %d\n", len(s.Tools), s.Tokens); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}

// shortFunction is a function's name and version, without the account that all of them are in.
func shortFunction(arn string) string {
	if _, short, found := strings.Cut(arn, ":function:"); found {
		return short
	}
	return arn
}

// notes are who does not see the tool.
func (t shownTool) notes() string {
	var notes []string
	if t.Disabled {
		notes = append(notes, "disabled")
	}
	if t.Risk == string(contract.RiskForbidden) {
		notes = append(notes, "does not exist for clients")
	}
	if len(t.Permissions) > 0 {
		notes = append(notes, "needs "+strings.Join(t.Permissions, " "))
	}
	return strings.Join(notes, ", ")
}
