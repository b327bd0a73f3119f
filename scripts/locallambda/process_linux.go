package locallambda

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// memoryInterval is how often the memory of running instances is looked at. Reading it costs some microseconds.
const memoryInterval = 20 * time.Millisecond

// residentBytes is the resident memory of a process, and of its descendants if children is set. What cannot be read has
// ended.
func residentBytes(pid int, children bool) int64 {
	if !children {
		return ownBytes(pid)
	}
	return ownBytes(pid) + childrenBytes(pid)
}

func childrenBytes(pid int) int64 {
	var total int64
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		list, _ := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		for child := range strings.FieldsSeq(string(list)) {
			if id, err := strconv.Atoi(child); err == nil {
				total += residentBytes(id, true)
			}
		}
	}
	return total
}

// ownBytes reads the second field of statm, the resident pages. Source: proc(5).
func ownBytes(pid int) int64 {
	statm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
