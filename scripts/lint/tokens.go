package lint

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"patchbay/shared/contract"
)

// O200kBase counts tokens as OpenAI's models from GPT-4o on do, by the vocabulary o200k_base. Other models count
// otherwise, mostly more; what is heavy here is heavy there.
func O200kBase() Estimator { return o200kBase{} }

type o200kBase struct{}

// The vocabulary takes some time and memory, so it is made when it is first needed, and once.
var o200kCodec = sync.OnceValue(codec.NewO200kBase)

func (o200kBase) Name() string { return "o200k_base" }

func (o200kBase) Count(text string) (int, error) { return o200kCodec().Count(text) }

// Cost is how many tokens a catalogue takes of a model's context.
type Cost struct {
	// Estimator names whose tokens these are.
	Estimator string `json:"estimator"`
	// Tools are in the order of the catalogue; tools of forbidden risk, which no client sees, are left out.
	Tools []ToolCost `json:"tools"`
	// Listed and Model are the sums of the tools' tokens.
	Listed int `json:"listed"`
	Model  int `json:"model"`
}

// ToolCost is the tokens of one tool.
type ToolCost struct {
	Name string `json:"name"`
	// File is the tool's tool.json.
	File string `json:"file"`
	// Listed is the whole definition, as tools/list sends it.
	Listed int `json:"listed"`
	// Model is name, description and inputSchema, which are what most hosts give to a model.
	Model int `json:"model"`
}

// Count returns the tokens of every tool of a catalogue. It fails when the estimator does.
func Count(c *Catalogue) (Cost, error) {
	cost := Cost{Estimator: c.Estimator.Name()}
	for _, t := range served(c) {
		tool, err := countTool(t, c.Estimator)
		if err != nil {
			return Cost{}, fmt.Errorf("counting the tokens of %s: %w", t.Name, err)
		}
		cost.Tools = append(cost.Tools, tool)
		cost.Listed += tool.Listed
		cost.Model += tool.Model
	}
	return cost, nil
}

func countTool(t *contract.Tool, estimator Estimator) (ToolCost, error) {
	listed, err := estimator.Count(string(t.Definition))
	if err != nil {
		return ToolCost{}, err
	}
	given, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	}{t.Name, t.Description, t.Input})
	if err != nil {
		return ToolCost{}, fmt.Errorf("encoding what a model is given: %w", err)
	}
	model, err := estimator.Count(string(given))
	if err != nil {
		return ToolCost{}, err
	}
	return ToolCost{Name: t.Name, File: t.File, Listed: listed, Model: model}, nil
}
