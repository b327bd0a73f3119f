package order

import (
	"strings"
	"testing"
)

// No order can be in the name of a stack, or of the local stack's own folder.
func TestCheckSource(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "maps-team", "team-7", strings.Repeat("a", 63)} {
		if err := CheckSource(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", "local", "Maps", "7maps", "-maps", "maps team", "maps\nteam", "maps_team", "maps/team", strings.Repeat("a", 64),
		"arn:aws:cloudformation:eu-west-1:111111111111:stack/shop-prod/0b1c",
	} {
		if CheckSource(bad) == nil {
			t.Errorf("source %q is allowed", bad)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tools := func(n int) []Tool { return make([]Tool, n) }
	for name, test := range map[string]struct {
		order Order
		says  string
	}{
		"good":              {Order{Version: 1, Source: "maps", Tools: tools(MaxTools)}, ""},
		"of a later form":   {Order{Version: 2, Source: "maps", Tools: tools(1)}, "takes version 1"},
		"without a form":    {Order{Source: "maps", Tools: tools(1)}, "has version 0"},
		"of a stack":        {Order{Version: 1, Source: "arn:a", Tools: tools(1)}, "allowed: 1 to 63 of"},
		"of nothing":        {Order{Version: 1, Source: "maps"}, "allowed: 1 to 100"},
		"of too many tools": {Order{Version: 1, Source: "maps", Tools: tools(MaxTools + 1)}, "names 101 tools"},
	} {
		err := test.order.Check()
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, test.says)
		}
	}
}
