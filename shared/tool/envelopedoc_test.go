package tool_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

// Authors in other languages write their tools after docs/envelope.md, so its examples are held to the code.
var envelopeBlocks = regexp.MustCompile("(?s)```([a-z ]+)\n(.*?)```\n")

func TestEnvelopePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/envelope.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, block := range envelopeBlocks.FindAllSubmatch(page, -1) {
		kind, text := string(block[1]), block[2]
		seen[kind]++
		switch kind {
		case "json":
			checkRequest(t, text)
		case "json result":
			decodeStrictly(t, text, &mcp.CallToolResult{})
		case "json question":
			decodeStrictly(t, text, &mcp.InputRequiredResult{})
		case "json line":
			checkLine(t, text)
		case "ndjson":
			for line := range bytes.Lines(text) {
				decodeStrictly(t, line, &invoke.Line{})
			}
		case "python":
			checkPython(t, string(text))
		default:
			t.Errorf("unexpected block of %q", kind)
		}
	}
	want := map[string]int{"json": 1, "json result": 2, "json question": 1, "json line": 1, "ndjson": 1, "python": 1}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// checkRequest demands that the example has every member of a request, and no other.
func checkRequest(t *testing.T, text []byte) {
	t.Helper()
	var request invoke.Request
	decodeStrictly(t, text, &request)
	if request.Version != invoke.Version {
		t.Errorf("the page describes version %d, the code speaks %d", request.Version, invoke.Version)
	}
	again, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value(t, string(again)), value(t, string(text))); diff != "" {
		t.Errorf("request (-code +page):\n%s", diff)
	}
}

// checkLine demands that the example has every member of the line that a call of a Go tool leaves, and no other.
func checkLine(t *testing.T, text []byte) {
	t.Helper()
	var log bytes.Buffer
	handler := tool.NewHandler(returning("done", nil))
	handler.Log = slog.New(slog.NewJSONHandler(&log, nil))
	if _, err := handler.Invoke(invocation(t), event(t, nil)); err != nil {
		t.Fatal(err)
	}
	logged, shown := members(t, log.Bytes()), members(t, text)
	delete(logged, "time") // CloudWatch has it too
	if diff := cmp.Diff(slices.Sorted(maps.Keys(logged)), slices.Sorted(maps.Keys(shown))); diff != "" {
		t.Errorf("members of a line (-code +page):\n%s", diff)
	}
}

func members(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	return members
}

func decodeStrictly(t *testing.T, text []byte, v any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func checkPython(t *testing.T, text string) {
	t.Helper()
	file, err := os.ReadFile("../../functions/convert_units/app.py")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(file), "\n"), strings.Split(text, "\n")); diff != "" {
		t.Errorf("app.py (-file +page):\n%s", diff)
	}
}
