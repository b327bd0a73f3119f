package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/registry"
)

// minimal is the least that the dispatcher starts with.
var minimal = map[string]string{
	"AWS_REGION": "eu-central-1", "PATCHBAY_TABLE": "registry", "PATCHBAY_LEDGER_TABLE": "ledger",
	"PATCHBAY_SEAL_KEYS_FILE": "/keys.json", "LAMBDA_TASK_ROOT": "/var/task",
}

// minimalWith is minimal with changes; an empty value is none.
func minimalWith(changes map[string]string) func(string) string {
	all := maps.Clone(minimal)
	maps.Copy(all, changes)
	return func(name string) string { return all[name] }
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environment map[string]string
		change      func(*settings)
	}{
		"least": {nil, func(*settings) {}},
		"every one": {map[string]string{
			"PATCHBAY_ORIGINS":          " https://app.example.com\thttp://localhost:6274\nhttps://[::1]:8443 ",
			"PATCHBAY_LOOPBACK_ORIGINS": "true", "PATCHBAY_CACHE_TTL_MS": "1500", "PATCHBAY_CACHE_SCOPE": "private",
			"PATCHBAY_PAGE_TOOLS": "20", "PATCHBAY_PAGE_BYTES": "65536", "PATCHBAY_ANSWER_WITHIN_MS": "29000",
			"PATCHBAY_CATALOGUE_MAX_AGE_MS": "250", "PATCHBAY_BUFFERED": "1", "AWS_ENDPOINT_URL_LAMBDA": "http://127.0.0.1:1",
			"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:2",
		}, func(s *settings) {
			s.origins = []string{"https://app.example.com", "http://localhost:6274", "https://[::1]:8443"}
			s.loopbackOrigins, s.buffered = true, true
			s.cacheTTL, s.cacheScope = 1500*time.Millisecond, "private"
			s.page = registry.PageLimits{MaxTools: 20, MaxBytes: 65536}
			s.answerWithin, s.catalogueMaxAge = 29*time.Second, 250*time.Millisecond
			s.lambdaURL, s.dynamoDBURL = "http://127.0.0.1:1", "http://127.0.0.1:2"
		}},
		"no caching": {map[string]string{"PATCHBAY_CACHE_TTL_MS": "0"}, func(s *settings) { s.cacheTTL = 0 }},
		"the default said": {map[string]string{
			"PATCHBAY_CACHE_SCOPE": "public", "PATCHBAY_LOOPBACK_ORIGINS": "false", "PATCHBAY_BUFFERED": "0",
		}, func(*settings) {}},
		"keys in Secrets Manager": {map[string]string{
			"PATCHBAY_SEAL_KEYS_FILE": "", "PATCHBAY_SEAL_KEYS_SECRET": "desk-prod/seal-keys",
			"AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://127.0.0.1:3",
		}, func(s *settings) {
			s.sealKeysFile, s.sealKeysSecret, s.secretsURL = "", "desk-prod/seal-keys", "http://127.0.0.1:3"
		}},
		"metrics": {map[string]string{
			"PATCHBAY_METRICS": "acme/Patchbay", "PATCHBAY_DEPLOYMENT": "desk-prod",
		}, func(s *settings) { s.metrics, s.deployment = "acme/Patchbay", "desk-prod" }},
		"a name alone": {map[string]string{"PATCHBAY_DEPLOYMENT": "desk-prod"}, func(s *settings) {
			s.deployment = "desk-prod"
		}},
		"callers sign in": {map[string]string{
			"PATCHBAY_AUTHORIZATION_FILE": "authorization.json", "PATCHBAY_RESOURCE": "https://mcp.example.com/prod/mcp",
		}, func(s *settings) {
			s.authorizationFile, s.resource = "/var/task/authorization.json", "https://mcp.example.com/prod/mcp"
			s.cacheScope = "private"
		}},
		"callers sign in, lists shared": {map[string]string{
			"PATCHBAY_AUTHORIZATION_FILE": "/etc/a.json", "PATCHBAY_RESOURCE": "http://127.0.0.1:8787/mcp",
			"PATCHBAY_CACHE_SCOPE": "public",
		}, func(s *settings) {
			s.authorizationFile, s.resource = "/etc/a.json", "http://127.0.0.1:8787/mcp"
		}},
		"SAM": {map[string]string{"AWS_SAM_LOCAL": "true"}, func(s *settings) { s.buffered = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readSettings(minimalWith(test.environment))
			if err != nil {
				t.Fatal(err)
			}
			want := &settings{
				serverFile: "/var/task/server.json", table: "registry", ledgerTable: "ledger", sealKeysFile: "/keys.json",
				cacheTTL: 5 * time.Minute, cacheScope: "public", limit: ratelimit.Limit{Window: time.Minute},
				catalogueMaxAge: 10 * time.Second,
			}
			test.change(want)
			ignored := cmpopts.IgnoreFields(settings{}, "aws")
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{}), ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if got.aws.Region != "eu-central-1" {
				t.Errorf("region %q", got.aws.Region)
			}
		})
	}
}

// A setting that is missing or wrong is named, with what it must be.
func TestSettingsRefuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, says string }{
		{"AWS_REGION", "", "must be set"},
		{"PATCHBAY_TABLE", "", "must be set"},
		{"PATCHBAY_LEDGER_TABLE", "", "must be set"},
		{"PATCHBAY_SEAL_KEYS_FILE", "", "PATCHBAY_SEAL_KEYS_SECRET exactly one"},
		{"PATCHBAY_SEAL_KEYS_SECRET", "desk-prod/seal-keys", "PATCHBAY_SEAL_KEYS_SECRET exactly one"},
		{"PATCHBAY_AUTHORIZATION_FILE", "authorization.json", "PATCHBAY_RESOURCE one is set alone"},
		{"PATCHBAY_RESOURCE", "https://mcp.example.com/mcp", "PATCHBAY_RESOURCE one is set alone"},
		{"PATCHBAY_RESOURCE", "https://mcp.example.com", "such as https://mcp.example.com/mcp"},
		{"PATCHBAY_RESOURCE", "http://mcp.example.com/mcp", "such as https://mcp.example.com/mcp"},
		{"PATCHBAY_RESOURCE", "mcp.example.com/mcp", "such as https://mcp.example.com/mcp"},
		{"PATCHBAY_METRICS", "AWS/Lambda", "none of AWS's own"},
		{"PATCHBAY_METRICS", "Patch\nbay", "a namespace of metrics such as Patchbay"},
		{"PATCHBAY_LOOPBACK_ORIGINS", "yes", "true or false"},
		{"PATCHBAY_BUFFERED", "2", "true or false"},
		{"PATCHBAY_CACHE_TTL_MS", "5m", "milliseconds"},
		{"PATCHBAY_CACHE_TTL_MS", "-1", "milliseconds"},
		{"PATCHBAY_CACHE_TTL_MS", "31622400001", "at most a year"},
		{"PATCHBAY_CACHE_SCOPE", "Public", "public or private"},
		{"PATCHBAY_CACHE_SCOPE", "shared", "public or private"},
		{"PATCHBAY_PAGE_TOOLS", "0", "above zero"},
		{"PATCHBAY_PAGE_BYTES", "64k", "above zero"},
		{"PATCHBAY_ANSWER_WITHIN_MS", "29s", "milliseconds"},
		{"PATCHBAY_CATALOGUE_MAX_AGE_MS", "99", "100 to 10000 milliseconds"},
		{"PATCHBAY_CATALOGUE_MAX_AGE_MS", "10001", "100 to 10000 milliseconds"},
		{"PATCHBAY_ORIGINS", "*", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "null", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "app.example.com", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "https://app.example.com/", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "https://app.example.com:443", "the scheme's own"},
		{"PATCHBAY_ORIGINS", "http://app.example.com:80", "the scheme's own"},
		{"PATCHBAY_ORIGINS", "https://app.example.com:", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "https://App.example.com", "lower case"},
		{"PATCHBAY_ORIGINS", "https://*.example.com", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "https://me@app.example.com", "https://app.example.com"},
		{"PATCHBAY_ORIGINS", "https://a.example,https://b.example", "separated by spaces"},
		{"PATCHBAY_ORIGINS", "https://app.example.com https:///", "https://app.example.com"},
	} {
		_, err := readSettings(minimalWith(map[string]string{test.name: test.value}))
		if err == nil || !strings.Contains(err.Error(), test.name) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s=%q: error %v, want one that names it and says %q", test.name, test.value, err, test.says)
		}
	}
}

// Metrics of no deployment would be those of all of them.
func TestMetricsNeedADeployment(t *testing.T) {
	t.Parallel()
	_, err := readSettings(minimalWith(map[string]string{"PATCHBAY_METRICS": "Patchbay"}))
	if err == nil || !strings.Contains(err.Error(), "PATCHBAY_DEPLOYMENT") {
		t.Errorf("error %v, want one that names PATCHBAY_DEPLOYMENT", err)
	}
}

// Every variable of the dispatcher is in the documentation's table.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	if _, err := readSettings(func(name string) string {
		asked[name] = true
		return minimal[name]
	}); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(PATCHBAY_[A-Z_]+)` \\|").FindAllStringSubmatch(string(page), -1)
	documented := map[string]bool{}
	for _, row := range rows {
		documented[row[1]] = true
	}
	for name := range asked {
		if strings.HasPrefix(name, "PATCHBAY_") && !documented[name] {
			t.Errorf("%s has no row in docs/configuration.md", name)
		}
	}
	if len(asked) < 10 {
		t.Errorf("only %d variables are read", len(asked))
	}
}
