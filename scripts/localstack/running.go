package localstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// runningFile is in the data folder while a stack runs on it.
const runningFile = "stack.json"

// ErrNotRunning means that no local stack runs on a data folder.
var ErrNotRunning = errors.New("no local stack is running")

// Running says where the parts of a running stack are, for commands that people give beside it.
type Running struct {
	// URL is the MCP endpoint, DatabaseURL the DynamoDB engine, and LambdaURL the Lambda API.
	URL         string `json:"url"`
	DatabaseURL string `json:"databaseUrl"`
	LambdaURL   string `json:"lambdaUrl"`
	// Table is the catalogue's.
	Table string `json:"table"`
	// PID is the process that runs the stack.
	PID int `json:"pid"`
}

// ReadRunning returns what the stack that runs on the data folder says of itself. The error wraps ErrNotRunning when
// there is none, or its process is gone.
func ReadRunning(data string) (Running, error) {
	var running Running
	content, err := os.ReadFile(filepath.Join(data, runningFile))
	if errors.Is(err, fs.ErrNotExist) {
		return running, fmt.Errorf("%w on %s", ErrNotRunning, data)
	}
	if err != nil {
		return running, fmt.Errorf("reading where the local stack is: %w", err)
	}
	if err := json.Unmarshal(content, &running); err != nil {
		return running, fmt.Errorf("decoding %s: %w", filepath.Join(data, runningFile), err)
	}
	// Signal 0 reaches nobody; it tells whether there is somebody. A process of another user's is there, too.
	if err := syscall.Kill(running.PID, 0); errors.Is(err, syscall.ESRCH) {
		return running, fmt.Errorf("%w on %s: process %d ended without tidying up", ErrNotRunning, data, running.PID)
	}
	return running, nil
}

// announce writes the file, in one step.
func (s *Stack) announce() error {
	content, err := json.MarshalIndent(Running{s.URL, s.DatabaseURL, s.LambdaURL, Table, os.Getpid()}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding where the local stack is: %w", err)
	}
	file := filepath.Join(s.options.Data, runningFile)
	if err := os.WriteFile(file+".new", append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing where the local stack is: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("writing where the local stack is: %w", err)
	}
	s.announced = file
	return nil
}

// retract removes the file, first of all at the end.
func (s *Stack) retract() {
	if s.announced != "" {
		_ = os.Remove(s.announced)
	}
}
