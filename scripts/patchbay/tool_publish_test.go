package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A contract that is given may be a link to a device that never ends.
func TestPublishReadsContractsThatHaveAnEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tool.json")
	if err := os.Symlink("/dev/zero", file); err != nil {
		t.Fatal(err)
	}
	_, err := readContracts([]string{file})
	if err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("reading it: %v", err)
	}
}
