package build

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// Run runs a command of a build in dir, with extra variables beside those that every build gets. The error quotes what
// it printed.
func Run(ctx context.Context, dir string, command []string, extra ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	endWithAll(cmd)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(variable string) bool { return !forBuilds(variable) })
	cmd.Env = append(cmd.Env, extra...)
	output, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed: %w", command[0], err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, output)
	}
	return nil
}

// endWithAll lets a command take all that it has started with it when its context ends. Package managers and the go
// command start others, which would go on, and be waited for, since they hold its output.
func endWithAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// forBuilds reports whether a command of a build gets a variable of the environment that it was started from: what
// finds programs, caches, package registries and proxies. Nothing else reaches it, so that a build that works here does
// not rest on one person's settings, and no secret of the terminal reaches a package's install script.
func forBuilds(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	name = strings.ToUpper(name)
	for _, prefix := range []string{"NPM_CONFIG_", "PIP_", "SSL_CERT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "HOME", "TMPDIR", "LANG", "PWD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NODE_EXTRA_CA_CERTS",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOENV", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY", "GOPRIVATE",
		"GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOINSECURE",
	}, name)
}
