package integration

import (
	"encoding/json"
	"strings"
	"testing"
)

// What the dispatcher writes can be searched: it is one JSON object a line, also where its own process or the Lambda
// runtime in it has something to report.
func TestTheDispatchersLogIsLinesOfJSON(t *testing.T) {
	t.Parallel()
	callInTrace(t, fixtures.URL, "misbehave", `{"mode":"exit"}`)
	for _, s := range []*server{fixtures, examples, known} {
		for _, line := range s.log.find("dispatcher ") {
			text, ok := strings.CutPrefix(line, "dispatcher ")
			if ok && (!json.Valid([]byte(text)) || !strings.HasPrefix(text, "{")) {
				t.Errorf("not a JSON object: %s", text)
			}
		}
	}
}
