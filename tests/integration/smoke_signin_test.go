package integration

import (
	"strings"
	"testing"

	"patchbay/scripts/smokecheck"
)

// What a client without a token finds out. The front stands for an authorization server that clients would refuse.
func TestSmokeWithoutATokenThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, check := range smoke(t, smokecheck.Options{URL: fronted.URL, Origin: "http://localhost:6274"}).Checks {
		if check.Status != smokecheck.OK && check.Name != "with a token" {
			t.Errorf("%+v", check)
		}
	}
}

// A token that may not call everything meets a challenge, without calling anything.
func TestSmokeFindsWhatATokenLacks(t *testing.T) {
	t.Parallel()
	options := smokecheck.Options{URL: guarded.URL, Token: tokens.mint(guarded.URL, "smoke", nil), Tool: "get_weather"}
	report := smoke(t, options)
	for _, check := range report.Checks {
		// The tests' issuer of tokens has no metadata, which is what this check is there to find.
		if check.Status != smokecheck.OK && check.Name != "sign-in" {
			t.Errorf("%+v", check)
		}
	}
	got := checked(t, report, "missing scope")
	if !strings.Contains(got.Seen, `error="insufficient_scope"`) || !strings.Contains(got.Seen, `scope="emails:send"`) {
		t.Errorf("%+v", got)
	}
	if got := checked(t, report, "sign-in"); got.Status != smokecheck.Failed {
		t.Errorf("an issuer without metadata is well: %+v", got)
	}
	options.Token = tokens.mint("https://elsewhere.example/mcp", "smoke", nil)
	if got := checked(t, smoke(t, options), "with a token"); got.Status != smokecheck.Failed {
		t.Errorf("a token for another server is taken: %+v", got)
	}
}
