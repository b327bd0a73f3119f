// Package motoserver runs moto, an emulator of AWS that is not of this project, as a child process for tests: what is
// deployed and published here is judged by something that nobody here wrote.
//
// What moto lacks against AWS is told where a test meets it. It checks no credentials, and by default no policies.
package motoserver

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"patchbay/scripts/child"
	"patchbay/scripts/pytools"
)

const (
	// Region is the region of Config.
	Region = "us-east-1"
	// Account is the account that moto says everything is in.
	Account = "123456789012"
)

// startWait is how long a server may take until it answers. Python compiles moto at its first start.
const startWait = time.Minute

//go:embed server.py
var script string

// Options say how a server runs. The zero value is useful.
type Options struct {
	// Bin is the folder of moto's programs, as pytools.Moto returns it. Empty means that of the module at or above the
	// working directory, where it must be installed.
	Bin string
	// Env are further variables of the server, each as NAME=VALUE: moto's own settings.
	Env []string
	// Log gets what the server prints, a line for every request. Nil drops it.
	Log io.Writer
}

// Server is a running server with nothing in it. Close must be called; a server whose parent dies without it ends by
// itself.
type Server struct {
	// URL is the endpoint of all services: the base endpoint of SDK clients, or AWS_ENDPOINT_URL. It carries no state
	// of another server's. Clients of S3 must use path style.
	URL string

	server *child.Server
}

// Start runs a server on a free loopback port and returns when it answers; ctx bounds only the start. The error wraps
// pytools.ErrNotInstalled when moto is missing, and holds what the server said when it did not start.
func Start(ctx context.Context, options Options) (*Server, error) {
	bin, err := options.bin()
	if err != nil {
		return nil, fmt.Errorf("preparing moto: %w", err)
	}
	cmd := exec.Command(filepath.Join(bin, "python"), "-c", script)
	cmd.Env = append(environment(cmd.Environ()), options.Env...)
	// A group of its own: what the terminal sends to the parent's group does not end the server first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	server, err := child.StartServer(ctx, cmd, child.ServerOptions{Within: startWait, Answers: answers, Log: options.Log})
	if err != nil {
		return nil, fmt.Errorf("starting moto: %w", err)
	}
	return &Server{URL: server.URL, server: server}, nil
}

func (o Options) bin() (string, error) {
	if o.Bin == "" {
		return pytools.FindMoto(".")
	}
	return o.Bin, nil
}

// environment leaves out what would make two machines' servers differ: a person's settings of AWS, moto and Python.
func environment(all []string) []string {
	var kept []string
	for _, variable := range all {
		foreign := false
		for _, prefix := range []string{"AWS_", "MOTO_", "PYTHON", "VIRTUAL_ENV"} {
			foreign = foreign || strings.HasPrefix(variable, prefix)
		}
		if !foreign {
			kept = append(kept, variable)
		}
	}
	return kept
}

// answers asks the server something.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/moto-api/data.json", nil)
	if err != nil {
		return fmt.Errorf("asking whether it answers: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking whether it answers: %w", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking whether it answers: status %s", response.Status)
	}
	return nil
}

// Done is closed when the server has ended, by Close or by itself.
func (s *Server) Done() <-chan struct{} { return s.server.Done() }

// Close ends the server and returns when its process is gone. It may be called more than once.
func (s *Server) Close() { s.server.Close() }

// Config is a configuration for SDK clients of the server, with credentials that it does not check.
func (s *Server) Config() aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(s.URL),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}
