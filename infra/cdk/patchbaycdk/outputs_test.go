package patchbaycdk

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (f *front) output(name string) string {
	output, _ := f.template["Outputs"].(map[string]any)[name].(map[string]any)
	return text(output["Value"])
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	url := regexp.MustCompile(
		`^https://<ApiRest\w+>\.execute-api\.eu-west-1\.<AWS::URLSuffix>/<ApiRestDeploymentStageprod\w+>/mcp$`)
	if got := plain().output("Url"); !url.MatchString(got) {
		t.Errorf("without a domain the address is %s", got)
	}
	if got := full().output("Url"); got != "https://mcp.example.com/mcp" {
		t.Errorf("with a domain the address is %s", got)
	}
	for name, f := range map[string]*front{"plain": plain(), "full": full()} {
		url := f.output("Url")
		if got := f.output("SmokeCommand"); got != "go tool patchbay smoke "+url {
			t.Errorf("%s: smoke command %s", name, got)
		}
		var config map[string]map[string]map[string]string
		if err := json.Unmarshal([]byte(f.output("ClientConfig")), &config); err != nil {
			t.Errorf("%s: client configuration %s: %v", name, f.output("ClientConfig"), err)
		}
		want := map[string]map[string]map[string]string{"mcpServers": {"tools-prod": {"type": "http", "url": url}}}
		if diff := cmp.Diff(want, config); diff != "" {
			t.Errorf("%s: client configuration (-want +got):\n%s", name, diff)
		}
		if got := f.output("ServiceTokenParameter"); got != "/tools-prod/registrar" {
			t.Errorf("%s: parameter %s", name, got)
		}
		got := f.output("DashboardUrl")
		if !strings.Contains(got, "cloudwatch/home?region=eu-west-1#dashboards/dashboard/<Dashboard") {
			t.Errorf("%s: dashboard %s", name, got)
		}
		if got := strings.Fields(f.output("PolicyArns")); len(got) != len(f.resources(managedPolicy)) {
			t.Errorf("%s: policies %v", name, got)
		}
	}
	if got := elsewhere().output("DomainTarget"); !strings.Contains(got, ".RegionalDomainName> <ApiDomain") {
		t.Errorf("the record to enter elsewhere points to %s", got)
	}
}

// Scripts read outputs by name: there are these and no others, such as one with the address that a domain disables.
func TestNamesOfOutputs(t *testing.T) {
	t.Parallel()
	want := []string{
		"Callers", "ClientConfig", "DashboardUrl", "PolicyArns", "ServiceTokenParameter", "SmokeCommand", "Url",
	}
	for name, f := range map[string]*front{"plain": plain(), "full": full()} {
		got := slices.Sorted(maps.Keys(f.template["Outputs"].(map[string]any)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The outputs say who may call, and of a server that asks for tokens how clients find out where to get one.
func TestOutputsSayWhoMayCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		front    *front
		callers  string
		metadata string
		fails    bool
	}{
		"anonymous": {plain(), `^WARNING: everybody who reaches the endpoint, .* are hidden$`, `^<nil>$`, false},
		"without a domain": {guarded(), `^Whoever has an access token for this server from https://cognito-idp\.\S+ or ` +
			`https://login\.example\.com$`, `^https://<ApiRest\w+>\.execute-api\.eu-west-1\.<AWS::URLSuffix>/prod` +
			`/\.well-known/oauth-protected-resource/mcp$`, true},
		"with a domain": {strict(), `^Whoever has an access token for this server from https://login\.example\.com$`,
			`^https://mcp\.example\.com/\.well-known/oauth-protected-resource/mcp$`, false},
	} {
		if got := test.front.output("Callers"); !regexp.MustCompile(test.callers).MatchString(got) {
			t.Errorf("%s: who may call: %s", name, got)
		}
		if got := test.front.output("ResourceMetadataUrl"); !regexp.MustCompile(test.metadata).MatchString(got) {
			t.Errorf("%s: the metadata is at %s", name, got)
		}
		if got := test.front.output("Discovery"); strings.Contains(got, "instead fail") != test.fails {
			t.Errorf("%s: discovery: %s", name, got)
		}
	}
}
