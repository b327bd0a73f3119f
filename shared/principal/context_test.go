package principal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContextAndBack(t *testing.T) {
	t.Parallel()
	for _, who := range []Principal{
		{Subject: "ada"},
		{ClientID: "nightly-report"},
		{
			Subject: "auth0|17", Issuer: "https://login.example.com/", ClientID: "desktop", Scopes: []string{"a:read", "b"},
			AuthTime: 1780000000, ACR: "mfa", Tenant: "acme",
		},
	} {
		got, err := FromContext(who.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(who.Scopes) == 0 {
			got.Scopes = nil
		}
		if diff := cmp.Diff(who, got); diff != "" {
			t.Errorf("principal (-want +got):\n%s", diff)
		}
	}
	// An authorizer's context has no lists, and no member without a value.
	if got := (Principal{Subject: "ada"}).Context(); !cmp.Equal(got, map[string]string{"subject": "ada"}) {
		t.Errorf("got %v", got)
	}
}

func TestContextThatNamesNobody(t *testing.T) {
	t.Parallel()
	for _, values := range []map[string]string{
		{}, {"issuer": "https://login.example.com", "scopes": "a"}, {"Subject": "ada"},
		{"subject": "ada", "authTime": "soon"},
	} {
		if who, err := FromContext(values); err == nil {
			t.Errorf("%v is %+v", values, who)
		}
	}
}
