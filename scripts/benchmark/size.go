package benchmark

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"patchbay/scripts/build"
)

// programs are those whose size has a goal, in bytes.
var programs = []struct {
	pkg, what string
	goal      float64
}{
	{"./functions/get_weather", "plain tool (get_weather)", 7e6},
	{"./functions/execute_sql", "tool with SQLite (execute_sql)", 11e6},
	{"./dispatcher", "dispatcher", 14e6},
	{"./dispatcher/authorizer", "authorizer", 14e6},
}

// sizes is part (d): programs for Lambda's Linux, built as they are deployed, for this machine's architecture.
func (b *bench) sizes(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "patchbay-bench-size-")
	if err != nil {
		return fmt.Errorf("making a folder for the programs: %w", err)
	}
	defer os.RemoveAll(dir)
	options := build.GoOptions{ModuleDir: b.Module, OutDir: dir, GOOS: "linux", GOARCH: runtime.GOARCH}
	for _, program := range programs {
		options.Packages = append(options.Packages, program.pkg)
	}
	if err := build.Go(ctx, options); err != nil {
		return err
	}
	for _, program := range programs {
		info, err := os.Stat(filepath.Join(dir, path.Base(program.pkg), "bootstrap"))
		if err != nil {
			return fmt.Errorf("measuring %s: %w", program.what, err)
		}
		b.report.add(Row{Part: "d", What: "size of the " + program.what, Unit: octets, Measured: float64(info.Size()),
			Goal: program.goal})
	}
	return nil
}
