package lint

import (
	"fmt"

	"patchbay/shared/contract"
)

func costRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "tool-heavy", Severity: warning,
			What: "A tool's definition has at most 1,500 tokens.",
			Why: "It is read with every request of every conversation; 200 to 400 tokens are usual. What a result needs " +
				"at most once belongs in the result.",
			Source: toolSearch},
		{ID: "catalogue-heavy", Severity: warning,
			What: "All definitions together have at most 20,000 tokens.",
			Why: "That is a tenth of a context of 200,000 tokens, from where Claude Code defers tools: a model then finds " +
				"a tool by searching, or not at all.",
			Source: "Claude Code, tool search, read 2026-11, https://github.com/anomalyco/opencode/issues/8625; " + toolSearch},
		{ID: "catalogue-many", Severity: warning,
			What: "A server has at most 40 tools.",
			Why: "Models choose worse from 30 to 50 tools on, Cursor has shown a model 40 at most, and VS Code takes 128 " +
				"of all servers together.",
			Source: toolSearch + "; Cursor, read 2026-11, https://gitlab.com/fforster/gitlab-mcp/-/issues/36; " +
				"VS Code, Use tools with agents, 2026-03-25, https://code.visualstudio.com/docs/copilot/agents/agent-tools"},
	}
}

const (
	maxToolTokens      = 1500
	maxCatalogueTokens = 20_000
	maxTools           = 40
)

func checkCost(c *Catalogue) contract.Problems {
	tools := served(c)
	cost, err := Count(c)
	if err != nil {
		// The estimator reads any text; should it ever fail, what it cannot count is not judged.
		return nil
	}
	var found contract.Problems
	for i, tool := range cost.Tools {
		if tool.Listed > maxToolTokens {
			found = append(found, advise(tools[i], "tool-heavy", "", fmt.Sprintf("at most %d tokens", maxToolTokens),
				fmt.Sprintf("the definition has %d tokens (%s)", tool.Listed, cost.Estimator)))
		}
	}
	whole := contract.Problem{File: serverFile(tools), Severity: contract.SeverityWarning}
	if cost.Listed > maxCatalogueTokens {
		whole.ID, whole.Allowed = "catalogue-heavy", fmt.Sprintf("at most %d tokens; shorter texts, or several servers",
			maxCatalogueTokens)
		whole.Message = fmt.Sprintf("the definitions have %d tokens together (%s)", cost.Listed, cost.Estimator)
		found = append(found, whole)
	}
	if len(tools) > maxTools {
		whole.ID, whole.Allowed = "catalogue-many", fmt.Sprintf("at most %d, or several servers", maxTools)
		whole.Message = fmt.Sprintf("the server has %d tools", len(tools))
		found = append(found, whole)
	}
	return found
}
