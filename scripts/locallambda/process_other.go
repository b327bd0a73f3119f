//go:build unix && !linux

package locallambda

import (
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// memoryInterval is long, since a look at the memory costs a process here.
const memoryInterval = 500 * time.Millisecond

// residentBytes is the resident memory of a process group, as far as ps tells; its children always count.
func residentBytes(pid int, _ bool) int64 {
	output, err := exec.Command("/bin/ps", "-axo", "pgid=,rss=").Output()
	if err != nil {
		return 0
	}
	var total int64
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == strconv.Itoa(pid) {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			total += kilobytes << 10
		}
	}
	return total
}
