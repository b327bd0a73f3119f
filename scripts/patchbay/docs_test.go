package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	called = regexp.MustCompile("go tool patchbay ([^`\n#…]+)")
	flag   = regexp.MustCompile(`^--([a-z-]+)`)
)

// Whoever is woken copies commands from the documentation: those that it names exist, with their flags.
func TestCommandsInTheDocumentation(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, "../../README.md") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range called.FindAllStringSubmatch(string(content), -1) {
			found++
			checkCommand(t, filepath.Base(file), strings.Fields(match[1]))
		}
	}
	if found < 20 {
		t.Errorf("the documentation names %d commands; this test looks for another form of them", found)
	}
}

func checkCommand(t *testing.T, file string, words []string) {
	t.Helper()
	command, _, err := command().Find(words)
	if err != nil || command.HasSubCommands() && len(words) > 1 && !strings.HasPrefix(words[1], "--") {
		t.Errorf("%s names `patchbay %s`, which is no command: %v", file, strings.Join(words, " "), err)
		return
	}
	for _, word := range words {
		if match := flag.FindStringSubmatch(word); match != nil && !hasFlag(command, match[1]) {
			t.Errorf("%s names `patchbay %s`, which has no flag --%s", file, strings.Join(words, " "), match[1])
		}
	}
}

func hasFlag(command *cobra.Command, name string) bool {
	return name == "help" || command.Flags().Lookup(name) != nil || command.PersistentFlags().Lookup(name) != nil ||
		command.InheritedFlags().Lookup(name) != nil
}
