package main

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"patchbay/shared/contract"
)

// explainCompletion says how a shell gets what cobra's command writes: go tool runs the program under no name of its
// own, and a shell completes by names.
func explainCompletion(root *cobra.Command) {
	command, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	command.Short = "Write the script by which a shell completes commands, flags and tool names"
	command.Long = `Writes the script for a shell to standard output. Shells complete by a command's name, so give the
program one first, by a function as in the examples, or by "go install patchbay/scripts/patchbay". In bash the script
needs the package bash-completion.`
	command.Example = `  patchbay() { go tool patchbay "$@"; }        # in ~/.bashrc or ~/.zshrc
  source <(go tool patchbay completion bash)   # behind it, in ~/.bashrc
  source <(go tool patchbay completion zsh)    # behind it and compinit, in ~/.zshrc`
	for _, shell := range command.Commands() {
		shell.Example = "  go tool patchbay completion " + shell.Name()
	}
}

// completeTools completes the names of tools, as their contracts in the functions folder have them, which flagName
// names, else the module. A contract that cannot be read stands under its folder's name.
func completeTools(root *string, flagName string) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		folder := ""
		if flag := command.Flag(flagName); flag != nil {
			folder = flag.Value.String()
		}
		if folder == "" {
			module, err := moduleRoot(*root)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			folder = filepath.Join(module, "functions")
		}
		contracts, err := filepath.Glob(filepath.Join(folder, "*", "tool.json"))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, file := range contracts {
			if name := toolName(file); !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func toolName(contractFile string) string {
	var tool struct {
		Name string `json:"name"`
	}
	text, err := contract.ReadFile(contractFile)
	if err != nil || json.Unmarshal(text, &tool) != nil || tool.Name == "" {
		return filepath.Base(filepath.Dir(contractFile))
	}
	return tool.Name
}
