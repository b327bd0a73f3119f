package samstack

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Who has no Docker is told so in one sentence, before anything is installed or built.
func TestNoDockerIsToldAtOnce(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, err := Start(t.Context(), Options{
		Root: t.TempDir(), Data: data, DockerHost: "unix://" + filepath.Join(t.TempDir(), "docker.sock"),
	})
	if !errors.Is(err, ErrNoDocker) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("something was prepared all the same")
	}
}

func TestDockerHostThatCannotBe(t *testing.T) {
	t.Parallel()
	if _, err := openEngine(t.Context(), "ssh://elsewhere"); err == nil || !strings.Contains(err.Error(), "allowed") {
		t.Errorf("error %v", err)
	}
}

// An engine is asked at its address; a bridge that is not on this machine leaves the gateway empty.
func TestEngine(t *testing.T) {
	t.Parallel()
	var deleted []string
	loopback := loopbackInterface(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			deleted = append(deleted, r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/version":
			io.WriteString(w, `{}`)
		case r.URL.Path == "/networks/bridge":
			io.WriteString(w, `{"Options":{"com.docker.network.bridge.name":"`+loopback+`"}}`)
		default:
			io.WriteString(w, `[{"Id":"own","Mounts":[{"Source":"/data/cdk.out/asset.1"}]},
				{"Id":"other","Mounts":[{"Source":"/database/x"}]}]`)
		}
	}))
	t.Cleanup(server.Close)
	engine, err := openEngine(t.Context(), strings.Replace(server.URL, "http:", "tcp:", 1))
	if err != nil {
		t.Fatal(err)
	}
	if bridge, err := engine.bridge(t.Context()); bridge.String() != "127.0.0.1/8" || err != nil {
		t.Errorf("bridge %s, %v", bridge, err)
	}
	loopback = "patchbay-none"
	if bridge, err := engine.bridge(t.Context()); bridge.IsValid() || err != nil {
		t.Errorf("bridge %s, which is elsewhere, %v", bridge, err)
	}
	if err := engine.removeContainers(t.Context(), "/data"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(deleted, []string{"/containers/own"}) {
		t.Errorf("removed %v", deleted)
	}
}

func loopbackInterface(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Flags&net.FlagLoopback != 0 {
			return one.Name
		}
	}
	t.Skip("this machine has no loopback interface")
	return ""
}

func TestRelay(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "reached")
	}))
	t.Cleanup(server.Close)
	target := server.Listener.Addr().String()
	// The whole of 127.0.0.0/8 is this machine's on Linux, and another machine may have only the first address.
	relay, err := startRelay(netip.MustParsePrefix("127.0.0.2/30"), target)
	if err != nil {
		t.Skip(err)
	}
	address := relay.listener.Addr().String()
	for from, want := range map[string]string{"127.0.0.1": "reached", "127.0.0.3": "reached", "127.0.0.4": ""} {
		if got := getFrom(t, from, address); got != want {
			t.Errorf("who comes from %s gets %q", from, got)
		}
	}
	relay.close()
	if _, err := net.Dial("tcp", relay.listener.Addr().String()); err == nil {
		t.Error("it takes connections after its end")
	}
}

// getFrom is what a server answers to one of the machine's addresses; empty where it ends the connection.
func getFrom(t *testing.T, from, address string) string {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Get("http://" + address)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// What is placed in the data folder holds keys and secrets, and the user of a container, which must read them, may be
// any: so the folder itself is closed to others, one from before too.
func TestDataFolderIsClosedToOthers(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for range 2 {
		s := &Stack{options: Options{Data: data}}
		if err := s.openData(); err != nil {
			t.Fatal(err)
		}
		s.lock.Close()
		found, err := os.Stat(data)
		if err != nil || found.Mode().Perm() != 0o700 {
			t.Errorf("the folder is %v, %v", found.Mode(), err)
		}
		if err := os.Chmod(data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// SAM hands the keys that it finds to every function.
func TestFunctionsGetTheKeysOfNobody(t *testing.T) {
	t.Parallel()
	got := environment([]string{"PATH=/bin", "AWS_PROFILE=work", "AWS_ACCESS_KEY_ID=AKIA", "PATCHBAY_TABLE=other"})
	for _, variable := range got {
		if slices.Contains([]string{"AWS_PROFILE=work", "AWS_ACCESS_KEY_ID=AKIA", "PATCHBAY_TABLE=other"}, variable) {
			t.Errorf("SAM gets %s", variable)
		}
	}
	for _, variable := range []string{"PATH=/bin", "AWS_ACCESS_KEY_ID=local", "AWS_CONFIG_FILE=" + os.DevNull} {
		if !slices.Contains(got, variable) {
			t.Errorf("SAM does not get %s", variable)
		}
	}
}

// SAM's own commands must find what this package writes.
func TestSAMConfigurationNamesTheFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`template_file = ".patchbay/sam/` + TemplateFile + `"`, `env_vars = ".patchbay/sam/` + EnvironmentFile + `"`,
		`add_host = ["` + containerHost + `:host-gateway"]`, `region = "` + region + `"`, "port = 3000\n", "port = 3001 ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("samconfig.toml does not say %s", want)
		}
	}
}
