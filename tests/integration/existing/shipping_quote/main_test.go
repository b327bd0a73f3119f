package main

import "testing"

func TestQuote(t *testing.T) {
	t.Parallel()
	tests := []struct {
		event Event
		want  Quote
	}{
		{Event{0.3, "NL"}, Quote{5.45, "EUR", 1}},
		{Event{2.5, "DE"}, Quote{11.65, "EUR", 3}},
		{Event{3, "GB"}, Quote{18.9, "EUR", 4}},
		{Event{30, "US"}, Quote{178.5, "EUR", 8}},
	}
	for _, test := range tests {
		if got, err := quote(t.Context(), test.event); err != nil || got != test.want {
			t.Errorf("quote(%+v) = %+v, %v, want %+v", test.event, got, err, test.want)
		}
	}
	if got, err := quote(t.Context(), Event{1, "XX"}); err == nil {
		t.Errorf("quote for XX = %+v, want an error", got)
	}
}
