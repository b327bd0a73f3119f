package locallambda

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// startError says what keeps a program from being started, where the system's own words mislead: a script whose
// interpreter is missing is "no such file" to it, though the script is there.
func startError(program string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, missing := os.Stat(program); missing != nil {
			return fmt.Errorf("starting the program: %w", missing)
		}
		if missing := checkInterpreter(program); missing != nil {
			return missing
		}
		return fmt.Errorf("%w; %s is there, so what is missing is its working directory or the loader that it was linked for",
			err, program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w; allowed: a program for %s/%s, or a script whose first line is #!INTERPRETER",
			err, runtime.GOOS, runtime.GOARCH)
	}
	return err
}

// checkInterpreter returns an error for a script whose first line names an interpreter that is not there.
// Source: execve(2), "Interpreter scripts".
func checkInterpreter(program string) error {
	name, err := interpreter(program)
	if err != nil || name == "" {
		return err
	}
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("program %s: the interpreter %q of its first line: %w", program, name, err)
	}
	return nil
}

// interpreter returns the one that a script names; "" for a program that is no script.
func interpreter(program string) (string, error) {
	file, err := os.Open(program)
	if errors.Is(err, fs.ErrPermission) {
		return "", nil // a program may be executable and not readable
	}
	if err != nil {
		return "", fmt.Errorf("reading a program: %w", err)
	}
	defer file.Close()
	// A line that is longer, or has no end, is used as far as it goes; a read that fails shows when it is started.
	line, _ := bufio.NewReaderSize(file, 256).ReadSlice('\n')
	rest, script := bytes.CutPrefix(line, []byte("#!"))
	if !script {
		return "", nil
	}
	rest = bytes.Trim(bytes.TrimSuffix(rest, []byte("\n")), " \t")
	if end := bytes.IndexAny(rest, " \t"); end >= 0 {
		rest = rest[:end]
	}
	return string(rest), nil
}
