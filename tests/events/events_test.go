// Package events holds sample events for sam local invoke, one for each example tool and one for the dispatcher; this
// test keeps them true.
package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"patchbay/dispatcher/gateway"
	"patchbay/shared/contract"
	"patchbay/shared/invoke"
)

// forAYear is how long the events must go on to work: their deadline is an absolute time.
const forAYear = 365 * 24 * time.Hour

// load returns the example tools; who copies this repository for tools of their own need not write events for them.
func load(t *testing.T) *contract.Set {
	t.Helper()
	set, problems := contract.LoadDir(filepath.Join("..", "..", "functions"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	set.Tools = slices.DeleteFunc(set.Tools, func(tool *contract.Tool) bool { return !tool.Contract.Example })
	return set
}

// Every example tool has an event that its function takes: an envelope of this release, or the arguments alone where
// the function knows nothing of envelopes.
func TestEveryToolHasAnEvent(t *testing.T) {
	t.Parallel()
	for _, tool := range load(t).Tools {
		folder := filepath.Base(filepath.Dir(tool.File))
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(folder + ".json")
			if errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("there is no sample event: add tests/events/%s.json", folder)
			}
			if err != nil {
				t.Fatal(err)
			}
			arguments := json.RawMessage(data)
			if tool.Contract.Function.Payload != contract.PayloadArguments {
				arguments = checkEnvelope(t, tool, data)
			}
			checkArguments(t, tool, arguments)
		})
	}
}

func checkEnvelope(t *testing.T, tool *contract.Tool, data []byte) json.RawMessage {
	t.Helper()
	var request invoke.Request
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		t.Fatalf("it is no envelope: %v", err)
	}
	if request.Version != invoke.Version {
		t.Errorf("it has version %d of the envelope, want %d", request.Version, invoke.Version)
	}
	if request.Tool != tool.Name {
		t.Errorf("it calls %q, want %q", request.Tool, tool.Name)
	}
	if time.Until(time.UnixMilli(request.Deadline)) < forAYear {
		t.Errorf("its deadline is %v", time.UnixMilli(request.Deadline))
	}
	if request.Meta.RequestID == "" || request.Meta.ProtocolVersion == "" {
		t.Errorf("it lacks what the dispatcher always tells: %+v", request.Meta)
	}
	for _, scope := range tool.Contract.Permissions {
		if !slices.Contains(request.Principal.Scopes, scope) {
			t.Errorf("its caller lacks %s, and the dispatcher would not have let the call through", scope)
		}
	}
	if request.DryRun && tool.Contract.DryRun == contract.DryRunNone {
		t.Error("it asks for a dry run, which the contract does not offer")
	}
	return request.Arguments
}

// checkArguments demands what the dispatcher sends: arguments that fit, with the defaults filled in.
func checkArguments(t *testing.T, tool *contract.Tool, arguments json.RawMessage) {
	t.Helper()
	input, err := tool.InputSchema()
	if err != nil {
		t.Fatal(err)
	}
	filled, err := input.Check(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(filled, arguments) {
		t.Errorf("the dispatcher would fill in defaults: %s", filled)
	}
}

// The dispatcher's event is a call of a tool that is there.
func TestEventOfTheDispatcher(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("dispatcher.json")
	if err != nil {
		t.Fatal(err)
	}
	var name, mirrored string
	handler := gateway.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Params struct{ Name string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		name, mirrored = body.Params.Name, r.Header.Get("Mcp-Name")
	}), gateway.Options{Buffered: true})
	if _, err := handler(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	known := slices.ContainsFunc(load(t).Tools, func(tool *contract.Tool) bool { return tool.Name == name })
	if !known || mirrored != name {
		t.Errorf("it calls %q and says %q in its header", name, mirrored)
	}
}

// An event of a tool that is gone would be there for nothing.
func TestEveryEventHasATool(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.json")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"dispatcher.json"}
	for _, tool := range load(t).Tools {
		want = append(want, filepath.Base(filepath.Dir(tool.File))+".json")
	}
	for _, file := range files {
		if !slices.Contains(want, file) {
			t.Errorf("%s is an event of no tool", file)
		}
	}
}
