package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/localstack"
	"patchbay/shared/contract"
)

func TestTellChange(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	tell := tellChange(&out, false)
	tell(localstack.Change{
		Faults: []localstack.Fault{
			{
				Of: []string{"ask", "shout"}, Serving: true,
				Err: errors.New("words.go:3:14: undefined: \x1b[31mmissing\nsecond line"),
			},
			{Of: []string{"new"}, Err: errors.New("nothing")},
		},
		Warnings: contract.Problems{{File: "functions/a/tool.json", Message: "odd", ID: "x", Severity: "warning"}},
	})
	tell(localstack.Change{
		Live: []string{"ask", "shout"}, Renewed: []string{"dispatcher"}, Mended: []string{"ask"}, Withdrawn: []string{"old"},
		Restart: []string{"the local stack itself is made from it, too"},
		Times:   localstack.Times{Total: 1234 * time.Millisecond, Build: time.Second, Publish: 30 * time.Millisecond},
	})
	want := `[watch] functions/a/tool.json: warning: odd [x]
[watch] ask, shout: not taken in; what was there before serves on
[watch]   words.go:3:14: undefined: \u{1b}[31mmissing
[watch]   second line
[watch] new: not taken in
[watch]   nothing
[watch] good again: ask
[watch] withdrawn: old
[watch] live: ask, shout, dispatcher (after 1.23 s, build 1.00 s, publish 0.03 s)
[watch] the local stack itself is made from it, too; stop and start again to take it in
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("what is told (-want +got):\n%s", diff)
	}

	out.Reset()
	tellChange(&out, true)(localstack.Change{Mended: []string{"ask"}})
	if want := "\x1b[32m[watch]\x1b[0m good again: ask\n"; out.String() != want {
		t.Errorf("in colours: %q, want %q", out.String(), want)
	}
}
