package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunQuotesWhatAFailedCommandPrinted(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), t.TempDir(), []string{"sh", "-c", "echo one thing; echo another >&2; exit 3"})
	for _, part := range []string{"exit status 3", "one thing", "another"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not say %q", err, part)
		}
	}
	err = Run(t.Context(), t.TempDir(), []string{"no-such-program"})
	if err == nil || !strings.Contains(err.Error(), "no-such-program is not installed") {
		t.Errorf("error %v", err)
	}
}

func TestBuildsGetNoSecretsOfTheTerminal(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "sekrit")
	t.Setenv("NPM_CONFIG_PROBE", "seen")
	dir := t.TempDir()
	if err := Run(t.Context(), dir, []string{"sh", "-c", "env > variables; pwd > folder"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "variables"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	if strings.Contains(got, "sekrit") || !strings.Contains(got, "PATH=") || !strings.Contains(got, "seen") {
		t.Errorf("the command saw %s", got)
	}
}

// What a command has started does not outlive it, and is not waited for.
func TestACommandThatIsStoppedLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer stop()
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	err := Run(ctx, dir, []string{"sh", "-c", "(touch started; sleep 5; touch outlived) & wait"})
	if err == nil {
		t.Error("the command is said to have ended well")
	}
	if _, err := os.Stat(filepath.Join(dir, "outlived")); err == nil {
		t.Error("what the command started went on, and was waited for")
	}
}
