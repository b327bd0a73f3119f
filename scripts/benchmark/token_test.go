package benchmark

import (
	"testing"
)

// Both sides of the comparison verify the same token, and refuse one that was changed.
func TestBothVerifyTheToken(t *testing.T) {
	t.Parallel()
	from, err := startIssuer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(from.close)
	verified, err := from.verifier().Verify(t.Context(), from.token)
	if err != nil || verified.Principal.Subject != "ada" {
		t.Errorf("verified %+v, %v", verified, err)
	}
	if err := from.signatureAlone(); err != nil {
		t.Error(err)
	}
	from.token = from.token[:len(from.token)-10] + "AAAAAAAAAA"
	if _, err := from.verifier().Verify(t.Context(), from.token); err == nil {
		t.Error("the authorizer takes a token whose signature is not right")
	}
	if from.signatureAlone() == nil {
		t.Error("a signature that is not right is taken")
	}
}
