package locallambda

import (
	"fmt"
	"time"
)

// childrenEvery says at which looks children are counted too: to find them costs ten times as much.
const childrenEvery = 5

// watchMemory kills instances that use more memory than their function has. A process that takes and gives back memory
// between two looks is not noticed.
func (s *Service) watchMemory() {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for look := 0; ; look++ {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		for _, in := range s.running() {
			in.checkMemory(look%childrenEvery == 0)
		}
	}
}

// running lists the instances that are not frozen; the others can't grow.
func (s *Service) running() []*instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	var running []*instance
	for in := range s.instances {
		if in.state != idle && in.state != ending {
			running = append(running, in)
		}
	}
	return running
}

func (in *instance) checkMemory(children bool) {
	limit := int64(in.version.MemoryMB) << 20
	used := residentBytes(in.cmd.Process.Pid, children)
	if used <= limit {
		return
	}
	in.note(fmt.Sprintf("Memory Size: %d MB, Max Memory Used: %d MB, killed", in.version.MemoryMB, used>>20))
	in.kill(causeMemory)
}
