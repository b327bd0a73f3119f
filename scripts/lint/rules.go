package lint

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"patchbay/shared/contract"
)

// Rule is one thing that is looked for, with an example of what is wrong and what is right.
type Rule struct {
	contract.Rule
	// Wrong and Right are members of a tool.json, or whole tools in braces where it takes several; a few examples tell
	// in words what would fill pages.
	Wrong, Right string
	// Place is the JSON Pointer of the object in tool.json that the members stand in, empty for the file itself;
	// "server.json" for the rules of that file.
	Place string
}

// Rules returns every rule: those of the contract package, which stop a tool, and those of this one, which advise.
// Those of one subject are together.
func Rules() []Rule {
	all := slices.Concat(contract.Rules(), adviceRules())
	rules := make([]Rule, len(all))
	for i, rule := range all {
		example := examples()[rule.ID]
		rules[i] = Rule{Rule: rule, Wrong: example.wrong, Right: example.right, Place: example.place}
	}
	return rules
}

// adviceRules are the rules of this package.
func adviceRules() []contract.Rule {
	return slices.Concat(nameRules(), descriptionRules(), parameterRules(), schemaRules(), listRules(), annotationRules(),
		callRules(), costRules(), suppressRules())
}

type example struct{ place, wrong, right string }

//go:embed examples.txt
var exampleText string

// examples reads examples.txt, which says at its beginning what its lines mean.
var examples = sync.OnceValue(func() map[string]example {
	read := map[string]example{}
	for _, section := range strings.Split(exampleText, "\n## ")[1:] {
		head, body, _ := strings.Cut(section, "\nwrong:\n")
		wrong, right, _ := strings.Cut(body, "\nright:\n")
		id, place, _ := strings.Cut(head, "\nin: ")
		read[id] = example{place, strings.TrimSpace(wrong), strings.TrimSpace(right)}
	}
	return read
})

// Sources. Pages without a date of their own carry the month in which they were read.
const (
	writingTools = "Anthropic, Writing effective tools for agents, 2025-09-11, " +
		"https://www.anthropic.com/engineering/writing-tools-for-agents"
	defineTools = "Claude Developer Platform, Define tools, read 2026-11, " +
		"https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
	toolSearch = "Claude Agent SDK, tool search, read 2026-11, " +
		"https://code.claude.com/docs/en/agent-sdk/tool-search"
	copilotNormalizer = "GitHub Copilot Chat, toolSchemaNormalizer.ts, read 2026-11, " +
		"https://github.com/microsoft/vscode-copilot-chat/blob/main/src/extension/tools/common/toolSchemaNormalizer.ts"
	copilotTools = "GitHub Copilot Chat, So you want to write a tool, read 2026-11, " +
		"https://github.com/microsoft/vscode-copilot-chat/blob/main/docs/tools.md"
	openAIStrict = "OpenAI, Structured Outputs, supported schemas, as of 2026-02, " +
		"https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai"
	openAIReasoning = "OpenAI Cookbook, o3/o4-mini function calling guide, 2025-05, " +
		"https://developers.openai.com/cookbook/examples/o-series/o3o4-mini_prompting_guide"
	openAIDescription = "OpenAI API, error string_above_max_length, 2025-04-25, " +
		"https://github.com/getsentry/sentry-mcp/issues/106"
	geminiSchema = "Vertex AI, Schema, 2025-09-05, " +
		"https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema"
	geminiDeclaration = "Vertex AI, FunctionDeclaration, read 2026-11, https://cloud.google.com/vertex-ai/generative-ai/" +
		"docs/reference/java/latest/com.google.cloud.vertexai.api.FunctionDeclarationOrBuilder"
	jsonSchemaFormat = "JSON Schema 2020-12, validation, section 7.3, https://json-schema.org/draft/2020-12/" +
		"json-schema-validation#section-7.3"
	toolAnnotations = "MCP schema 2026-07-28, ToolAnnotations"
	reference       = "docs/tool-json.md"
)

// advise makes a finding of a rule in a tool. All findings of this package are warnings.
func advise(t *contract.Tool, id, pointer, allowed, message string) contract.Problem {
	return contract.Problem{File: t.File, Pointer: pointer, ID: id, Message: message, Allowed: allowed,
		Severity: contract.SeverityWarning}
}

// between is a finding that is of another tool as well.
func between(p contract.Problem, other *contract.Tool) contract.Problem {
	p.Related = other.File
	return p
}

// served returns the tools that a client can see: all but those of forbidden risk.
func served(c *Catalogue) []*contract.Tool {
	return slices.DeleteFunc(slices.Clone(c.Tools), func(t *contract.Tool) bool {
		return t.Contract.Risk == contract.RiskForbidden
	})
}

// each looks at one served tool after the other.
func each(c *Catalogue, look func(*contract.Tool) contract.Problems) contract.Problems {
	var found contract.Problems
	for _, t := range served(c) {
		found = append(found, look(t)...)
	}
	return found
}
