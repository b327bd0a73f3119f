package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"patchbay/scripts/callpath"
	"patchbay/scripts/locallog"
	"patchbay/scripts/logview"
	"patchbay/scripts/operate"
	"patchbay/scripts/smokecheck"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

// hostile is what a client may send as a name: it clears a line, changes colours and the title, turns the direction of
// what follows, and begins a line of its own.
const hostile = "a\x1b[2K\x1b]0;x\a\u009b31m\u202eb\rc\n2026-01-02 03:04:05.000  gateway  forged\x7f"

// asText is JSON as log lines have it: an encoder leaves the C1 controls and bidi overrides as they are.
func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantInert fails where something would act on a terminal, or where a line begins with what only a writer of hostile
// text would begin one with.
func wantInert(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("acts on a terminal: %q", line)
		}
		if strings.HasPrefix(line, "2026-01-02 03:04:05.000  gateway  forged") {
			t.Errorf("a forged line: %q", text)
		}
	}
}

// Whoever can send a request can have his text in the log that an operator reads in a terminal.
func TestWhatClientsWroteIsInertInCalls(t *testing.T) {
	t.Parallel()
	const id = "7d1f0f9e-0000-4000-8000-000000000000"
	at := time.Date(2026, 1, 2, 3, 4, 4, 0, time.UTC)
	line := func(group, message string) locallog.Line {
		return locallog.Line{Time: at, Group: group, Message: message}
	}
	call := operate.Call{
		Lines: []locallog.Line{
			line("/aws/lambda/dispatcher", asText(t, map[string]any{
				"msg": hostile, "method": hostile, "requestId": id, hostile: 1, "list": []string{hostile},
			})),
			line("/aws/lambda/"+hostile, "raw "+hostile),
			line("/aws/lambda/x", "Traceback:\r  File x\rValueError\tx"),
			line("/aws/lambda/x", "{\"deep\":[1,\n\"\u009b\"]}"),
			line("/aws/lambda/x", asText(t, map[string]any{"msg": "sent to=nobody", "a=b": "c"})),
			line("/aws/lambda/x", asText(t, map[string]any{"msg": "to=nobody"})),
			line("/aws/lambda/x", "invalid \xff\xfe \u009b"),
		},
		Notes: []string{hostile},
	}
	for _, asJSON := range []bool{false, true} {
		var out, notes bytes.Buffer
		if err := (callsOptions{asJSON: asJSON}).write(&out, &notes, id, call); err != nil {
			t.Fatal(err)
		}
		wantInert(t, out.String())
		wantInert(t, notes.String())
		if asJSON {
			var back []locallog.Line
			if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[1] != call.Lines[1] {
				t.Errorf("--json gives %v, %v", back, err)
			}
			continue
		}
		for _, want := range []string{
			`method="a\x1b[2K`, `"sent to=nobody" "a=b"=c`, `  "to=nobody"`, "Traceback:\n    ", "ValueError    x",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("does not have %s:\n%s", want, out.String())
			}
		}
	}
}

func TestWhatToolsWroteIsInertInTheOtherCommands(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 4, 0, time.UTC)
	entry := newLedgerEntry(ledger.ID{}, &ledger.Entry{
		Owner: hostile, State: hostile, LeaseUntil: at, Ends: at,
		Audit: []byte(asText(t, hostile)), Result: []byte("{\n\"text\": " + asText(t, hostile) + "\n}\x9b"),
	})
	snapshot := &shownSnapshot{
		ID: hostile, By: hostile, Operator: hostile, RollbackOf: hostile, Tools: []string{hostile},
		Functions: map[string]string{hostile: hostile},
	}
	catalogue := shownCatalogue{
		Disabled: []string{hostile},
		Sources:  []shownSource{{Source: hostile, Live: snapshot, Kept: []shownSnapshot{*snapshot}}},
	}
	gone := registry.Snapshot{ID: hostile, By: hostile, Operator: hostile, RollbackOf: hostile, Tools: []string{hostile}}
	back := rollback{
		source: hostile, now: map[string]string{hostile: "1", "x" + hostile: "1"},
		then: map[string]string{hostile: hostile, "y" + hostile: hostile}, unknown: []string{hostile},
	}
	for name, write := range map[string]func(io.Writer) error{
		"ledger show":                func(w io.Writer) error { return entry.write(w, at) },
		"ledger show --json":         func(w io.Writer) error { return writeJSON(w, entry) },
		"catalogue show":             catalogue.write,
		"catalogue show --json":      func(w io.Writer) error { return writeJSON(w, catalogue) },
		"catalogue rollback":         back.write,
		"catalogue withdraw":         withdrawal{source: hostile, live: gone}.write,
		"smoke":                      smokecheck.Check{Status: smokecheck.OK, Seen: hostile}.Write,
		"smoke, a check that failed": smokecheck.Check{Status: smokecheck.Failed, Seen: hostile}.Write,
		"local": func(w io.Writer) error {
			view := logview.New(w, logview.Options{})
			view.Line(hostile, hostile, []byte("raw "+hostile))
			view.Line(hostile, "", []byte(asText(t, map[string]string{"msg": hostile, "stack": hostile, "level": hostile,
				"outcome": hostile, "requestId": hostile, hostile: hostile})))
			view.Call(callpath.Call{
				RequestID: hostile, HTTPMethod: hostile, Path: hostile, Method: hostile, Tool: hostile, Principal: hostile,
				Outcome: hostile, Ledger: hostile, Refusal: hostile,
				Spans: []callpath.Span{{Name: hostile, Outcome: hostile}},
			})
			return nil
		},
		"an error": func(w io.Writer) error {
			complain(w, errors.New(hostile))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			wantInert(t, out.String())
			if strings.HasSuffix(name, "--json") && !json.Valid(out.Bytes()) {
				t.Errorf("not JSON: %s", &out)
			}
		})
	}
}
