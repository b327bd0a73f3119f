package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"patchbay/scripts/lint"
	"patchbay/scripts/printable"
	"patchbay/scripts/scaffold"
	"patchbay/shared/contract"
)

func toolNewCommand() *cobra.Command {
	var (
		root    string
		asJSON  bool
		options scaffold.Options
	)
	command := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the folder of a new tool, with a test that passes",
		Long: `Writes functions/NAME: a contract with what fits the risk, a handler that does something small, its test,
and calls to evaluate. All of it works as it is, so that every later fault is one of the last change. Comments that
begin with "Decide:" are where the author has to choose. Nothing is overwritten. Where there is no server.json, one is
written.

Without --risk the name decides: low for a tool that reads (find_order, weather), medium for one that changes something
(create_order), high for one that destroys something (cancel_order). Calls of high and critical risk need a scope and a
person's confirmation, and so a server that people sign in to, as with local --auth.

A tool in Python or Node.js installs nothing: it speaks Patchbay's JSON envelope by the small file beside it. State
handles are kept by a Go package, so --state is for tools in Go.`,
		Example: `  patchbay tool new find_order
  patchbay tool new cancel_order --lang python --risk critical
  patchbay tool new add_note --state notes     # remembers something from call to call`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options.Name = args[0]
			if options.Functions == "" {
				module, err := moduleRoot(root)
				if err != nil {
					return err
				}
				options.Functions = filepath.Join(module, "functions")
			}
			tool, err := scaffold.New(options)
			if err != nil {
				return usageError{err}
			}
			written, err := tool.Write()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), newTool{tool.Name, tool.Folder, tool.Language, tool.Risk, written,
					tool.TestCommand})
			}
			if err := tellNew(cmd.OutOrStdout(), tool, written); err != nil {
				return err
			}
			return tellFindings(cmd.ErrOrStderr(), options.Functions, filepath.Base(tool.Folder))
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Language, "lang", scaffold.Go, "the language: "+strings.Join(scaffold.Languages, ", "))
	flags.StringVar(&options.Risk, "risk", "", "how much harm a call can do: "+strings.Join(scaffold.Risks, ", ")+
		" (default what the name says)")
	flags.StringVar(&options.State, "state", "", "the `NAMESPACE` of what the tool remembers between calls; tools that "+
		"name the same one share it (Go only)")
	flags.StringVar(&options.Description, "description", "", "what models read of the tool (default what the new handler "+
		"does)")
	flags.StringVar(&options.Functions, "functions", "", "the folder of functions (default functions in the module)")
	flags.BoolVar(&asJSON, "json", false, "write what was made as JSON")
	rootFlag(command, &root)
	complete(command, "lang", scaffold.Languages)
	complete(command, "risk", scaffold.Risks)
	return command
}

// complete completes a flag's values.
func complete(command *cobra.Command, flag string, values []string) {
	// It fails for a flag that the command does not have, or that has a completion.
	completions := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	cobra.CheckErr(command.RegisterFlagCompletionFunc(flag, completions))
}

// newTool is a new tool as scripts read it.
type newTool struct {
	Name     string        `json:"name"`
	Folder   string        `json:"folder"`
	Language string        `json:"language"`
	Risk     contract.Risk `json:"risk"`
	Files    []string      `json:"files"`
	Test     string        `json:"test"`
}

// tellNew says what was written, what is left to decide, and what comes next.
func tellNew(w io.Writer, tool *scaffold.Tool, written []string) error {
	files, err := tool.Files()
	if err != nil {
		return err
	}
	text := &strings.Builder{}
	folder := near(tool.Folder)
	fmt.Fprintf(text, "%s is a tool in %s, of %s risk%s:\n\n", folder, tool.Language, tool.Risk, whyRisk(tool))
	for _, file := range files {
		fmt.Fprintf(text, "  %-13s %s\n", file.Name, file.About)
	}
	for _, path := range written[len(files):] {
		fmt.Fprintf(text, "\nThere was no %s; it says what the server is.\n", near(path))
	}
	fmt.Fprintf(text, "\nIt works as it is. What you have to decide is marked \"Decide:\" in %s; in tool.json it is\n\n",
		files[0].Name)
	for _, decision := range tool.Decisions() {
		fmt.Fprintf(text, "  %-13s %s\n", decision.Field, decision.Question)
	}
	fmt.Fprintf(text, "\nNext%s:\n\n", from(tool.Root))
	steps := tool.Steps()
	width := 0
	for _, step := range steps {
		width = max(width, len(step.Command))
	}
	for _, step := range steps {
		fmt.Fprintf(text, "  %-*s   # %s\n", width, step.Command, step.About)
	}
	if note := tool.Note(); note != "" {
		fmt.Fprintf(text, "\n%s\n", note)
	}
	_, err = io.WriteString(w, text.String())
	return err
}

// tellFindings says what lint has to say of a new tool, which is of its name and of how it goes with the others.
func tellFindings(w io.Writer, functions, folder string) error {
	report, err := lint.Run(functions, lint.Options{Tools: []string{folder}})
	if err != nil {
		return fmt.Errorf("looking at the new tool: %w", err)
	}
	var text strings.Builder
	for _, finding := range report.Findings {
		if finding.Suppressed == "" {
			fmt.Fprintln(&text, printable.Lines("  "+finding.Problem.String(), "    "))
		}
	}
	if text.Len() == 0 {
		return nil
	}
	_, err = fmt.Fprintf(w, "\nAs it stands, lint finds:\n\n%s", text.String())
	return err
}

// whyRisk says why a risk was chosen that was not asked for.
func whyRisk(tool *scaffold.Tool) string {
	switch {
	case !tool.RiskByName():
		return ""
	case tool.Verb.Word == "":
		return " (choose another by --risk)"
	}
	return fmt.Sprintf(" (for the name says %q; choose another by --risk)", tool.Verb.Word)
}

// near is a path as one would type it from here.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return path
}

// from says where commands are given, when that is not here.
func from(dir string) string {
	if here, err := os.Getwd(); err == nil && here == dir {
		return ""
	}
	return ", in " + dir
}
