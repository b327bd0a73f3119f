// Package environment reads the environment variables of a program, and says which one is wrong and what it must be.
package environment

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest is the most that a duration may be: what is longer was meant in another unit.
const longest = 366 * 24 * time.Hour

// Reader reads variables and keeps the first fault, so that a program asks for all it needs and looks for one at the
// end. What a faulty variable gives is not to be used.
type Reader struct {
	getenv func(string) string
	err    error
}

// New returns a reader of what getenv, such as os.Getenv, returns; a variable that is empty counts as not set.
func New(getenv func(string) string) *Reader { return &Reader{getenv: getenv} }

// Err is the first fault; nil when there is none.
func (r *Reader) Err() error { return r.err }

// Fault says that a variable's value is not what the program wants.
func (r *Reader) Fault(name, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("environment variable %s is %q; it must be %s", name, value, want)
	}
}

// Optional reads a variable as it is; empty where it is not set.
func (r *Reader) Optional(name string) string { return r.getenv(name) }

// Required reads a variable that must be set.
func (r *Reader) Required(name string) string {
	value := r.getenv(name)
	if value == "" {
		r.Fault(name, value, "set")
	}
	return value
}

// File reads the path of a file: as it is where it is absolute, else below the folder of the function's code, which
// Lambda names in LAMBDA_TASK_ROOT; empty where the variable is not set.
func (r *Reader) File(name string) string {
	path := r.getenv(name)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.getenv("LAMBDA_TASK_ROOT"), path)
}

// Matching reads a variable that must be set and have a form, which want tells people.
func (r *Reader) Matching(name string, form *regexp.Regexp, want string) string {
	value := r.getenv(name)
	if !form.MatchString(value) {
		r.Fault(name, value, want)
	}
	return value
}

// OneOf reads a variable that is absent or one of others; absent where it is not set.
func (r *Reader) OneOf(name, absent string, others ...string) string {
	value := r.getenv(name)
	if value == "" || value == absent {
		return absent
	}
	for _, other := range others {
		if value == other {
			return value
		}
	}
	r.Fault(name, value, strings.Join(append([]string{absent}, others...), " or "))
	return absent
}

// Boolean is false where the variable is not set.
func (r *Reader) Boolean(name string) bool {
	value := r.getenv(name)
	if value == "" {
		return false
	}
	parsed, err := strconv.ParseBool(value)
	if err != nil {
		r.Fault(name, value, "true or false")
	}
	return parsed
}

// Count reads a whole number above zero; zero where the variable is not set.
func (r *Reader) Count(name string) int {
	value := r.getenv(name)
	if value == "" {
		return 0
	}
	parsed, err := strconv.Atoi(value)
	if err != nil || parsed < 1 {
		r.Fault(name, value, "a whole number above zero")
	}
	return parsed
}

// CountTo reads a whole number from one to most, which must be set.
func (r *Reader) CountTo(name string, most int) int {
	value := r.getenv(name)
	parsed, err := strconv.Atoi(value)
	if err != nil || parsed < 1 || parsed > most {
		r.Fault(name, value, fmt.Sprintf("a whole number from 1 to %d", most))
	}
	return parsed
}

// Milliseconds reads a duration; absent where the variable is not set.
func (r *Reader) Milliseconds(name string, absent time.Duration) time.Duration {
	value := r.getenv(name)
	if value == "" {
		return absent
	}
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err != nil || parsed < 0 || parsed > longest.Milliseconds() {
		r.Fault(name, value, "a number of milliseconds, at most a year")
	}
	return time.Duration(parsed) * time.Millisecond
}
