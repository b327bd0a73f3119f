package samstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// ErrNoDocker means that the Docker engine, in which SAM runs every function, cannot be reached.
var ErrNoDocker = errors.New("SAM runs functions in Docker, and no Docker engine is reachable")

// defaultSocket is where SAM looks for an engine when DOCKER_HOST does not say.
const defaultSocket = "unix:///var/run/docker.sock"

// containerHost is the name by which containers reach this machine.
const containerHost = "host.docker.internal"

// engine is the Docker engine, asked over its API: SAM needs no docker command, and so neither does this.
type engine struct {
	client *http.Client
	base   string
}

// openEngine returns the engine at an address like that of DOCKER_HOST. The error wraps ErrNoDocker where none answers.
func openEngine(ctx context.Context, address string) (*engine, error) {
	if address == "" {
		address = defaultSocket
	}
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "unix" && at.Scheme != "tcp" && at.Scheme != "http" {
		return nil, fmt.Errorf("DOCKER_HOST is %q; allowed: unix:///PATH or tcp://HOST:PORT", address)
	}
	e := &engine{client: http.DefaultClient, base: "http://" + at.Host}
	if at.Scheme == "unix" {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", at.Path)
		}
		e.client, e.base = &http.Client{Transport: &http.Transport{DialContext: dial}}, "http://docker"
	}
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := e.request(asking, http.MethodGet, "/version", nil); err != nil {
		return nil, fmt.Errorf("%w at %s: install and start Docker, or set DOCKER_HOST (%v)", ErrNoDocker, address, err)
	}
	return e, nil
}

// bridge is the address of the bridge to which containers are attached, with the network that it is for, where that
// bridge is on this machine; the zero Prefix where the engine runs in a machine of its own, as Docker Desktop's does,
// which leads containers to the loopback interface of this one.
func (e *engine) bridge(ctx context.Context) (netip.Prefix, error) {
	var bridge struct{ Options map[string]string }
	if err := e.request(ctx, http.MethodGet, "/networks/bridge", &bridge); err != nil {
		return netip.Prefix{}, fmt.Errorf("asking Docker for the network of its containers: %w", err)
	}
	own, err := net.InterfaceByName(bridge.Options["com.docker.network.bridge.name"])
	if err != nil {
		return netip.Prefix{}, nil
	}
	addresses, err := own.Addrs()
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("reading the addresses of %s: %w", own.Name, err)
	}
	for _, address := range addresses {
		if at, err := netip.ParsePrefix(address.String()); err == nil && at.Addr().Is4() {
			return at, nil
		}
	}
	return netip.Prefix{}, nil
}

// removeContainers removes those that run functions from below a folder, which SAM leaves behind where it is killed.
func (e *engine) removeContainers(ctx context.Context, folder string) error {
	var containers []struct {
		ID     string `json:"Id"`
		Mounts []struct{ Source string }
	}
	filter := url.QueryEscape(`{"label":["sam.cli.container.type=lambda"]}`)
	if err := e.request(ctx, http.MethodGet, "/containers/json?all=true&filters="+filter, &containers); err != nil {
		return fmt.Errorf("listing the containers that SAM left: %w", err)
	}
	var faults []error
	for _, container := range containers {
		for _, mount := range container.Mounts {
			if !strings.HasPrefix(mount.Source, folder+"/") {
				continue
			}
			faults = append(faults, e.request(ctx, http.MethodDelete, "/containers/"+container.ID+"?force=true", nil))
			break
		}
	}
	return errors.Join(faults...)
}

// request asks the engine; into, which may be nil, gets the answer.
func (e *engine) request(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, e.base+path, nil)
	if err != nil {
		return err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(body))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}
