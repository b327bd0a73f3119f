package principal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/principal"
)

// Two callers share a key only when they are the same caller, whatever separators their names hold.
func TestKeyTellsCallersApart(t *testing.T) {
	t.Parallel()
	seen := map[string]principal.Principal{}
	for _, p := range []principal.Principal{
		{},
		{Subject: "anonymous"},
		{Subject: "u"},
		{Subject: "u", Issuer: "https://a"},
		{Subject: "u", Issuer: "https://a/"},
		{Subject: "https://a", Issuer: "u"},
		{Subject: "b:sub:c", Issuer: "a"},
		{Subject: "c", Issuer: "a:sub:b"},
		{ClientID: "u", Issuer: "https://a"},
		{ClientID: "machine"},
	} {
		if other, taken := seen[p.Key()]; taken {
			t.Errorf("%+v and %+v share the key %q", p, other, p.Key())
		}
		seen[p.Key()] = p
	}
}

func TestKeyIgnoresWhatChangesBetweenTokens(t *testing.T) {
	t.Parallel()
	one := principal.Principal{Subject: "u", Issuer: "i", ClientID: "a", Scopes: []string{"x"}, AuthTime: 1, ACR: "1"}
	two := principal.Principal{Subject: "u", Issuer: "i", ClientID: "b"}
	if one.Key() != two.Key() {
		t.Errorf("%q and %q are one subject", one.Key(), two.Key())
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	p := principal.Principal{Scopes: []string{"read", "write"}}
	if got := p.Missing([]string{"write", "read"}); got != nil {
		t.Errorf("got %v, want none", got)
	}
	if diff := cmp.Diff([]string{"admin", "Read"}, p.Missing([]string{"admin", "read", "Read"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What Key returns is a key, and what an operator mistypes of one is none.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, p := range []principal.Principal{
		{}, {Subject: "ada"}, {Issuer: "https://issuer.example", Subject: "a:b"}, {Issuer: "é", ClientID: "robot"},
		{Issuer: "1:x:sub:y", Subject: "ada"},
	} {
		if err := principal.CheckKey(p.Key()); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, text := range []string{
		"", "ada", "Anonymous", "0::sub:", "00::sub:ada", "+0::sub:ada", "-1::sub:ada", "0:sub:ada", "0::user:ada",
		"21:https://issuer.example:sub:ada", "23:https://issuer.example:sub:ada", "99:https://issuer.example:sub:ada",
		"https://issuer.example:sub:ada",
	} {
		if principal.CheckKey(text) == nil {
			t.Errorf("%q is taken for a principal's key", text)
		}
	}
}
