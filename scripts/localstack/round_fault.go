package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"patchbay/scripts/locallambda"
	"patchbay/scripts/nodemodules"
)

// startFault is a function that does not come to life, told in terms of its sources.
type startFault struct {
	text  string
	cause error
	// function is what was tried. It is not tried again unless that changes, or it is made anew.
	function locallambda.Function
}

func (f *startFault) Error() string { return f.text }

func (f *startFault) Unwrap() error { return f.cause }

// explain tells why a version does not come to life. It names files of the folder that the author edits, where the
// runtime names those of the version's.
func (r *round) explain(ctx context.Context, p *part, v *served, err error) error {
	text := requestID.ReplaceAllString(err.Error(), "")
	var failed *locallambda.InitError
	if errors.As(err, &failed) && hasEnded(failed) {
		text += "\nwhat it wrote before it ended is in its log, above"
	}
	if places := r.syntaxErrors(ctx, p); places != "" {
		text += "\n" + places
	}
	if p.dir != "" && v.dir != "" {
		text = strings.ReplaceAll(text, v.dir, strings.TrimPrefix(r.relative(p.dir), "./"))
	}
	return &startFault{text: text, cause: err, function: v.function}
}

// requestID is what Lambda writes before an error, of which only an invocation has one that anybody knows.
var requestID = regexp.MustCompile(`RequestId: \S+ Error: `)

// wasTried reports whether a fault is that just this function did not come to life.
func wasTried(fault error, function locallambda.Function) bool {
	var tried *startFault
	return errors.As(fault, &tried) && reflect.DeepEqual(tried.function, function)
}

// hasEnded reports whether a function's program ended without telling why.
func hasEnded(failed *locallambda.InitError) bool {
	var report struct{ ErrorType string }
	return json.Unmarshal(failed.Payload, &report) == nil && report.ErrorType == "Runtime.ExitError"
}

// syntaxErrors asks Node.js where it cannot read the files of a function, which it does not tell when it imports them.
func (r *round) syntaxErrors(ctx context.Context, p *part) string {
	if p.dir == "" || p.pkg != "" {
		return ""
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return ""
	}
	var places []string
	for _, entry := range entries {
		if !slices.Contains([]string{".js", ".mjs", ".cjs"}, filepath.Ext(entry.Name())) {
			continue
		}
		file := filepath.Join(strings.TrimPrefix(r.relative(p.dir), "./"), entry.Name())
		command := exec.CommandContext(ctx, nodemodules.Node(r.modules), "--check", file)
		command.Dir = r.module
		output, err := command.CombinedOutput()
		if err == nil {
			continue
		}
		// Where it is and the line; behind them come the error, which is known, and the stack.
		text, _, _ := strings.Cut(string(output), "\n\n")
		places = append(places, strings.ReplaceAll(text, r.module+string(filepath.Separator), ""))
	}
	return strings.Join(places, "\n")
}
