package invoke_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"patchbay/shared/invoke"
)

// The golden files hold a request and a stream of version 1. Never write them again once that version is released:
// start files for the next one, and keep reading these.
const (
	goldenRequest = "testdata/golden/v1-request.json"
	goldenLines   = "testdata/golden/v1-lines.ndjson"
)

// A tool that was built with an earlier release of this package gets the requests of this one, and the other way round:
// of version 1, every member of a request is written as it was read, under its name and in its form.
func TestGoldenRequest(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(goldenRequest)
	if err != nil {
		t.Fatal(err)
	}
	var request invoke.Request
	decoder := json.NewDecoder(bytes.NewReader(golden))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		t.Fatal(err)
	}
	if request.Version != 1 || request.Principal.Subject != "ada" || !request.DryRun || request.Deadline != 1785240030000 {
		t.Errorf("read as %+v", request)
	}
	written, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(written) + "\n"; got != string(golden) {
		t.Errorf("version 1 is written as\n%s", got)
	}
}

func TestGoldenLines(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(goldenLines)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(golden)) {
		var line invoke.Line
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if (line.Progress == nil) == (line.Result == nil) {
			t.Errorf("%s is read as %+v", text, line)
		}
		if written, err := json.Marshal(line); err != nil || string(written)+"\n" != text {
			t.Errorf("%s is written as %s, %v", text, written, err)
		}
	}
}
