package samstack

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
	if gateway, err := engine.gateway(t.Context()); gateway != "127.0.0.1" || err != nil {
		t.Errorf("gateway %q, %v", gateway, err)
	}
	loopback = "patchbay-none"
	if gateway, err := engine.gateway(t.Context()); gateway != "" || err != nil {
		t.Errorf("gateway %q of a bridge elsewhere, %v", gateway, err)
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
	relay, err := startRelay("127.0.0.2", target)
	if err != nil {
		t.Skip(err)
	}
	response, err := http.Get("http://" + relay.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "reached" {
		t.Errorf("got %q, %v", body, err)
	}
	response.Body.Close()
	relay.close()
	if _, err := net.Dial("tcp", relay.listener.Addr().String()); err == nil {
		t.Error("it takes connections after its end")
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
