//go:build unix && !linux

package child

import "syscall"

// Attributes put a process into a group of its own, which what the terminal sends to this one's group does not reach.
// There is no parent-death signal here: a process that is killed outright leaves its children behind.
func Attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
