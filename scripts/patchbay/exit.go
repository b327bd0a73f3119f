package main

import "errors"

// Exit codes of every command. They are told by `patchbay --help`.
const (
	// exitFailed: what was asked for was not done, or what was checked has faults.
	exitFailed = 1
	// exitUsage: the command itself was wrong, and nothing was begun: an unknown command or flag, a missing argument.
	exitUsage = 2
)

// usageError is a command that was given wrongly.
type usageError struct{ error }

// Unwrap leads to what was wrong.
func (e usageError) Unwrap() error { return e.error }

// exitCode is what the program ends with after an error.
func exitCode(err error) int {
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}
