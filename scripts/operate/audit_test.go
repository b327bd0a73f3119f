package operate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func localTarget(file string) *Target {
	return &Target{
		Name: localName, auditor: &fileAuditor{file: file, who: "ada"}, now: time.Now,
		explain: func(err error) error { return err },
	}
}

func records(t *testing.T, file string) []record {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	for line := range strings.Lines(string(content)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestEveryActHasARecordBeforeAndAfter(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), AuditFile)
	target := localTarget(file)
	act := Act{Lever: "tool disable", On: "x", Details: map[string]string{}}
	err := target.Do(t.Context(), act, func(act *Act) error {
		if got := records(t, file); len(got) != 1 || got[0].Outcome != outcomeAttempt {
			t.Errorf("while it acts: %+v", got)
		}
		act.Details["found"] = "meanwhile"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("broken")
	if err := target.Do(t.Context(), act, func(*Act) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	got := records(t, file)
	if len(got) != 4 || got[0].ID != got[1].ID || got[1].ID == got[2].ID {
		t.Fatalf("records %+v", got)
	}
	if got[1].Outcome != outcomeDone || got[1].Details["found"] != "meanwhile" || got[1].Who != "ada" {
		t.Errorf("after it: %+v", got[1])
	}
	if got[3].Outcome != outcomeFailed || got[3].Error != "broken" {
		t.Errorf("after a failure: %+v", got[3])
	}
}

func TestNothingIsDoneWithoutARecord(t *testing.T) {
	t.Parallel()
	target := localTarget(t.TempDir()) // a folder, which nobody can append to
	err := target.Do(t.Context(), Act{Lever: "x"}, func(*Act) error {
		t.Error("acted")
		return nil
	})
	var unwritten *auditError
	if !errors.As(err, &unwritten) || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("error %v", err)
	}
}

// An operator who interrupts an act still leaves what came of it.
func TestTheOutcomeIsWrittenAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), AuditFile)
	ctx, cancel := context.WithCancel(t.Context())
	err := localTarget(file).Do(ctx, Act{Lever: "x"}, func(*Act) error {
		cancel()
		return ctx.Err()
	})
	if got := records(t, file); !errors.Is(err, context.Canceled) || len(got) != 2 || got[1].Outcome != outcomeFailed {
		t.Errorf("error %v, records %+v", err, got)
	}
}
