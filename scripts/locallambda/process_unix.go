//go:build unix

package locallambda

import "syscall"

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
	killSignal     = syscall.SIGKILL
)

// signalGroup signals a process and the children that it started. A group that is gone needs no signal, and nothing
// else can go wrong with one's own children, so there is no error.
func signalGroup(pid int, signal syscall.Signal) { syscall.Kill(-pid, signal) }
