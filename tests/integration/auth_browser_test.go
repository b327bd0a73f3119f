package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localstack"
	"patchbay/scripts/nodemodules"
)

// The Inspector's page in Chromium, at an authorization server of each kind: the lesser user signs in, sees no tool
// that is for others, is asked for a scope more, and sends a mail. A web page of another origin reads why it is
// refused. Pictures of each step are kept in .patchbay/browser.
func TestInspectorInABrowser(t *testing.T) {
	if !full {
		t.Skip("needs Chromium; PATCHBAY_FULL is not set")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("Chromium is missing (%v): install it, on Debian by apt-get install chromium", err)
	}
	for _, test := range []struct{ kind, prefix, steppedUp string }{
		{localstack.AuthGeneric, "", "Step-up authorization succeeded"},
		// Cognito's answers with tokens do not name the scopes, which says that those are given that were asked for
		// (RFC 6749, section 5.1). The Inspector takes it for none, and its advice to try again is right all the same.
		{localstack.AuthCognito, "patchbay/", "required scopes were not granted"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			seen := testInspector(t, chromium, test.kind, test.prefix)
			if seen.SteppedUp != test.steppedUp {
				t.Errorf("after the step-up the page says %q", seen.SteppedUp)
			}
		})
	}
}

func testInspector(t *testing.T, chromium, kind, prefix string) browserReport {
	inspector := fmt.Sprintf("127.0.0.1:%d", portFrom(22000))
	s, err := start(t.Context(), localstack.Options{
		Functions: filepath.Join(root, "functions"), Data: dataOf("browser"), Auth: kind,
		AuthServer: localauth.Options{RedirectURIs: append(callbackURLs(), "http://"+inspector+"/oauth/callback")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.users, s.machine = s.AuthServer.Users, s.AuthServer.Machine
	startInspector(t, inspector, s.URL)
	subject := fmt.Sprintf("browser %d", time.Now().UnixNano())
	seen := click(t, s, chromium, inspector, subject, picturesOf(t, kind))
	seen.check(t, s, prefix)
	if sent := s.mails(t, subject); len(sent) != 1 {
		t.Errorf("sent %v", sent)
	}
	if err := s.leaked(); err != nil {
		t.Error(err)
	}
	return seen
}

// picturesOf is the empty folder for a run's pictures.
func picturesOf(t *testing.T, kind string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(root, ".patchbay", "browser", kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inspectorToken opens the Inspector's own page.
const inspectorToken = "tests"

// startInspector runs the Inspector's page for the endpoint and returns when it answers.
func startInspector(t *testing.T, address, endpoint string) {
	t.Helper()
	modules := filepath.Join(root, "node_modules")
	cmd := exec.CommandContext(t.Context(), nodemodules.Node(modules),
		filepath.Join(modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
		"--web", "--server-url", endpoint, "--transport", "http", "--protocol-era", "modern")
	_, port, _ := strings.Cut(address, ":")
	cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir(), "CLIENT_PORT="+port, "MCP_SANDBOX_PORT=0",
		"MCP_AUTO_OPEN_ENABLED=false", "MCP_INSPECTOR_API_TOKEN="+inspectorToken, "MCP_INSPECTOR_SECRET_STORE=memory")
	output := &text{}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "the Inspector's page", func() bool {
		response, err := http.Get("http://" + address)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

// browserReport is what js/browser.mjs saw.
type browserReport struct {
	// Visits are the authorization requests.
	Visits []string
	// Tools are those that the page lists.
	Tools []string
	// SteppedUp is what the page says of the second sign-in.
	SteppedUp string
	// Text is what the page says after the call.
	Text string
	// Without and With are answers to a page of another origin.
	Without, With pageAnswer
}

type pageAnswer struct {
	Status    int
	Challenge string
	Message   answer
	Metadata  struct {
		Resource string
	}
}

// click runs the browser.
func click(t *testing.T, s *server, chromium, inspector, subject, pictures string) browserReport {
	t.Helper()
	person, err := newPerson(s, mayRead)
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>A page of another origin</title>")
	}))
	t.Cleanup(page.Close)
	plan, err := json.Marshal(map[string]any{
		"chromium": chromium, "pictures": pictures, "server": s.URL,
		"inspector": "http://" + inspector + "?MCP_INSPECTOR_API_TOKEN=" + inspectorToken,
		"name":      person.user.Name, "password": person.user.Password,
		"tool":      "emails.send_external",
		"arguments": map[string]any{"to": []string{"grace@example.com"}, "subject": subject, "body": "Hello"},
		"page":      page.URL, "token": signInAt(t, s, mayAll, s.URL),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var output, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, nodemodules.Node(filepath.Join(root, "node_modules")),
		filepath.Join("clients", "js", "browser.mjs"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(plan), &output, &complaints
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("clicking through the Inspector: %v; pictures are in %s\n%s", err, pictures, &complaints)
	}
	var seen browserReport
	if err := json.Unmarshal(output.Bytes(), &seen); err != nil {
		t.Fatalf("decoding %s: %v", &output, err)
	}
	return seen
}

func (r browserReport) check(t *testing.T, s *server, prefix string) {
	t.Helper()
	if len(r.Visits) != 2 {
		t.Fatalf("visits %v", r.Visits)
	}
	for i, visit := range r.Visits {
		u, err := url.Parse(visit)
		if err != nil {
			t.Fatal(err)
		}
		asked := u.Query()
		more := slices.Contains(strings.Fields(asked.Get("scope")), prefix+"emails:send")
		if asked.Get("resource") != s.URL || asked.Get("code_challenge_method") != "S256" || more != (i == 1) {
			t.Errorf("authorization request %d is %v", i, asked)
		}
	}
	for _, tool := range []string{"contacts_search", "emails.send_external"} {
		if !slices.Contains(r.Tools, tool) {
			t.Errorf("the page lists %v", r.Tools)
		}
	}
	if slices.Contains(r.Tools, "emails.bulk_send") {
		t.Errorf("the page lists a tool for others: %v", r.Tools)
	}
	if !strings.Contains(r.Text, "grace@example.com") {
		t.Errorf("after the call the page says %s", r.Text)
	}
	if without := r.Without; without.Status != http.StatusUnauthorized || without.Challenge != s.Challenge() ||
		without.Message.Error == nil || without.Metadata.Resource != s.URL {
		t.Errorf("without a token a page reads %+v", without)
	}
	if r.With.Status != http.StatusOK || r.With.Message.Error != nil {
		t.Errorf("with a token a page reads %+v", r.With)
	}
}
