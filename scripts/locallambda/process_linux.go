package locallambda

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memoryInterval is how often the memory of running instances is looked at. Reading it costs some microseconds.
const memoryInterval = 20 * time.Millisecond

// processAttributes puts a process into a group of its own, and ends it when this process ends in whatever way.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// residentBytes is the resident memory of a process and its descendants. What cannot be read has ended.
func residentBytes(pid int) int64 {
	total := ownBytes(pid)
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			if id, err := strconv.Atoi(child); err == nil {
				total += residentBytes(id)
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
