package localstack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

func TestReadRunning(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if _, err := ReadRunning(data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("no file: error %v", err)
	}
	s := &Stack{URL: "http://a/mcp", DatabaseURL: "http://b", LambdaURL: "http://c", options: Options{Data: data}}
	if err := s.announce(); err != nil {
		t.Fatal(err)
	}
	want := Running{URL: "http://a/mcp", DatabaseURL: "http://b", LambdaURL: "http://c", Table: Table, PID: os.Getpid()}
	if got, err := ReadRunning(data); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	s.retract()
	if _, err := ReadRunning(data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the end: error %v", err)
	}
}

// A stack that was killed leaves its file behind.
func TestReadRunningOfAProcessThatIsGone(t *testing.T) {
	t.Parallel()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	writeFiles(t, data, map[string]string{runningFile: fmt.Sprintf(`{"pid":%d}`, gone.Process.Pid)})
	if _, err := ReadRunning(data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("error %v, want %v", err, ErrNotRunning)
	}
	writeFiles(t, data, map[string]string{runningFile: `{`})
	if _, err := ReadRunning(data); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("half a file: error %v", err)
	}
}
