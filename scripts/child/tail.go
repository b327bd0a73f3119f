package child

import (
	"io"
	"strings"
	"sync"
)

// tailBytes bounds what an error quotes of a server's output.
const tailBytes = 4096

// tail passes on what it is given and remembers its end, so that an error can quote it.
type tail struct {
	next io.Writer // may be nil

	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-tailBytes):]
	if t.next == nil {
		return len(p), nil
	}
	return t.next.Write(p)
}

// String is ": " and what was written last, or nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.last)); text != "" {
		return ": " + text
	}
	return ""
}
