package scaffold

import (
	"path/filepath"
	"strings"

	"patchbay/shared/contract"
)

// Decision is a field of tool.json that only the author can fill.
type Decision struct{ Field, Question string }

// Decisions are what is left to decide in the contract, the most important first.
func (t *Tool) Decisions() []Decision {
	decisions := []Decision{
		{"description", "what the tool does, when to use it, what comes back: all that a model chooses by"},
		{"inputSchema", "the parameters, in the words of those who ask: names rather than ids"},
	}
	if t.kind != reads {
		decisions = append(decisions, Decision{"annotations", "destructiveHint: whether something can be lost; " +
			"openWorldHint: whether it reaches beyond your own systems"})
	}
	if t.Scope != "" {
		decisions = append(decisions, Decision{"permissions", t.Scope + " is made up: which scope callers need"})
	}
	if t.kind != reads {
		decisions = append(decisions, Decision{"sideEffects", "what a call changes, and what a repeat does, for whoever " +
			"confirms it"})
	}
	return append(decisions, Decision{"failureModes", "how it can fail, and what helps then"})
}

// Step is a command to give next.
type Step struct{ Command, About string }

// Steps are the commands of the author's loop, to be given in Root, in their order.
func (t *Tool) Steps() []Step {
	folder := filepath.Base(t.Folder)
	local, file, in := "go tool patchbay local --watch", folder, ""
	if functions := t.functions(); functions != "functions" {
		in = " --functions " + shellWord(functions)
		file = shellWord(functions + "/" + folder + "/eval.yaml")
	}
	if t.Scope != "" {
		local += " --auth"
	}
	steps := []Step{
		{t.TestCommand, "its own test"},
		{"go tool patchbay tool lint " + folder + in, "what would confuse a model or break a client"},
		{local + in, "the server; leave it running in a second terminal"},
	}
	if t.Risk == contract.RiskForbidden {
		return steps[:2]
	}
	call := "go tool patchbay tool call " + t.Name + " --arg " + t.Example.Name + "=" + shellWord(t.Example.Value)
	if t.Risk == contract.RiskCritical {
		call += " --dry-run"
	}
	return append(steps,
		Step{call, "what a client gets"},
		Step{"go tool patchbay tool eval " + file, "the calls of eval.yaml"})
}

// Note is what is to be known before the steps; empty for nothing.
func (t *Tool) Note() string {
	switch {
	case t.Risk == contract.RiskForbidden:
		return "A tool of forbidden risk does not exist for clients: it is not listed, and cannot be called."
	case t.Scope != "":
		return "Only who signs in has scopes: local --auth says how to, and how to get a token for tool call and tool eval."
	}
	return ""
}

// RiskByName reports whether the name decided the risk.
func (t *Tool) RiskByName() bool { return t.options.Risk == "" }

// functions is the functions folder as it is named in commands.
func (t *Tool) functions() string {
	folder, err := filepath.Abs(t.options.Functions)
	if err != nil {
		return t.options.Functions
	}
	if relative, err := filepath.Rel(t.Root, folder); err == nil {
		folder = relative
	}
	return filepath.ToSlash(folder)
}

// shellWord quotes a text where a shell would take it for more than one word.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/=:", r)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
