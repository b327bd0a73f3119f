package child

import "syscall"

// Attributes put a process into a group of its own, which what the terminal sends to this one's group does not reach,
// and send it the signal when this process ends in whatever way. Linux takes the end of the *thread* that started the
// process for that, and Go may end a thread at any time: start it from a goroutine that stays locked to its thread for
// as long as the process runs.
func Attributes(atEnd syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: atEnd}
}
