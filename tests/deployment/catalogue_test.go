package deployment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/shared/registry"
)

// catalogue reads what a deployment's dispatchers would, with a reader of its own: the versions or aliases of the
// tools' functions, by the names of the tools.
func (w *world) catalogue(t *testing.T, prefix string) map[string]string {
	t.Helper()
	reader := registry.NewReader(dynamodb.NewFromConfig(w.config), prefix+"-registry", registry.ReaderOptions{})
	tools := map[string]string{}
	page := registry.Page{}
	for {
		var err error
		if page, err = reader.Page(t.Context(), page.NextCursor, registry.PageLimits{}, nil); err != nil {
			t.Fatal(err)
		}
		for _, definition := range page.Definitions {
			var tool struct{ Name string }
			if err := json.Unmarshal(definition, &tool); err != nil {
				t.Fatal(err)
			}
			entry, err := reader.Lookup(t.Context(), tool.Name)
			if err != nil {
				t.Fatal(err)
			}
			tools[tool.Name] = entry.Function[strings.LastIndex(entry.Function, ":")+1:]
		}
		if page.NextCursor == "" {
			return tools
		}
	}
}
