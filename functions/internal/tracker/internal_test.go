package tracker

import (
	"context"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              -1,
		"soon":                          -1,
		"-5":                            -1,
		"1.5":                           -1,
		"99999999999999999999":          -1,
		"0":                             0,
		"7":                             7 * time.Second,
		"65535":                         18*time.Hour + 12*time.Minute + 15*time.Second,
		"Sat, 01 Aug 2026 12:00:30 GMT": 30 * time.Second,
		"Sat, 01 Aug 2026 11:00:00 GMT": 0,
		"Sat, 01 Aug 2099 12:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", header, got, want)
		}
	}
}

// A request must end early enough for the tool to answer before its own caller gives up.
func TestBudget(t *testing.T) {
	t.Parallel()
	client := &Client{timeout: 8 * time.Second}
	for left, most := range map[time.Duration]time.Duration{
		time.Hour:       8 * time.Second,
		2 * time.Second: 2*time.Second - reserve,
		0:               -reserve,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), left)
		if got := client.budget(ctx); got > most {
			t.Errorf("with %v left a request may take %v, want at most %v", left, got, most)
		}
		cancel()
	}
	if got := client.budget(context.Background()); got != client.timeout {
		t.Errorf("without a deadline a request may take %v", got)
	}
}

func TestEnumerate(t *testing.T) {
	t.Parallel()
	many := make([]string, maxNamed+3)
	for i := range many {
		many[i] = "x"
	}
	for want, names := range map[string][]string{"(none)": nil, "a, b": {"a", "b"}} {
		if got := enumerate(names); got != want {
			t.Errorf("enumerate(%v) = %q, want %q", names, got, want)
		}
	}
	if got := enumerate(many); len(got) != 3*maxNamed-2+len(" and 3 more") {
		t.Errorf("enumerate of %d names = %q", len(many), got)
	}
}
