package locallambda

import (
	"os"
	"os/exec"
	"testing"
)

func TestMemoryCountsChildren(t *testing.T) {
	child := exec.Command("/bin/sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	eventually(t, "the child is counted", func() bool {
		own := ownBytes(child.Process.Pid)
		return own > 0 && childrenBytes(os.Getpid()) >= own
	})
	if n := childrenBytes(child.Process.Pid); n != 0 {
		t.Errorf("a process without children has %d bytes in them", n)
	}
}

func BenchmarkResidentBytes(b *testing.B) {
	for name, children := range map[string]bool{"own": false, "children": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				residentBytes(os.Getpid(), children)
			}
		})
	}
}
