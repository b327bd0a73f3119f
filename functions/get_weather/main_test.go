package main

import (
	"strings"
	"testing"
	"time"

	"patchbay/shared/tool/tooltest"
)

// inJuly is the tool on a day in July.
var inJuly = weather(loadPlaces(), func() time.Time { return time.Date(2026, time.July, 14, 12, 0, 0, 0, time.UTC) })

func TestAgreement(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, inJuly)
}

func TestWeather(t *testing.T) {
	t.Parallel()
	got := tooltest.Structured[Output](t, tooltest.Call(t, inJuly, `{"location":"Paris"}`))
	want := Output{
		Location: "Paris, France", Month: "July", Temperature: 21, Conditions: "partly cloudy", Humidity: 68,
		Basis: "Usual weather of the month from long-term averages; not a live report.",
	}
	if got != want {
		t.Errorf("weather = %+v, want %+v", got, want)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	tests := []struct{ location, want string }{
		{"new york", "New York, New York, United States"},
		{"New York, NY", "New York, New York, United States"},
		{"NYC, USA", "New York, New York, United States"},
		{"New York City, New York, US", "New York, New York, United States"},
		{"10001", "New York, New York, United States"},
		{" 94105-1234 ", "San Francisco, California, United States"},
		{"Washington, D.C.", "Washington, District of Columbia, United States"},
		{"Washington, DC, USA", "Washington, District of Columbia, United States"},
		{"London,  England", "London, United Kingdom"},
		{"ZÜRICH", "Zurich, Switzerland"},
		{"São Paulo, Brazil", "Sao Paulo, Brazil"},
		{"singapore", "Singapore, Singapore"},
	}
	for _, test := range tests {
		got := tooltest.Structured[Output](t, tooltest.Call(t, inJuly, Input{Location: test.location}))
		if got.Location != test.want {
			t.Errorf("%q is %s, want %s", test.location, got.Location, test.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	tests := []struct{ location, want string }{
		{"Pariss", `No place named "Pariss" is known here. Did you mean Paris?`},
		{"Tokoy", "Did you mean Tokyo?"},
		{"Lodnon", "Did you mean London?"},
		{"York", "Did you mean New York?"},
		{"Portland, Maine", "There is no Portland, Maine here, only Portland, Oregon, United States."},
		{"Xanadu", "Known are: Amsterdam, Anchorage, "},
		{"59001", "ZIP code 59001 is in none of the US cities known here: Anchorage, Atlanta, "},
	}
	for _, test := range tests {
		got := tooltest.Call(t, inJuly, Input{Location: test.location})
		if got.Code != "unknown_location" || !strings.Contains(got.Text(), test.want) {
			t.Errorf("%q: code %q, text %q, want %q", test.location, got.Code, got.Text(), test.want)
		}
	}
}

// The data is made by hand; what no row may break is checked here.
func TestData(t *testing.T) {
	t.Parallel()
	for _, p := range loadPlaces() {
		for i, m := range p.months {
			if m.temperature < -40 || m.temperature > 40 || m.humidity < 10 || m.humidity > 95 {
				t.Errorf("%s, month %d: %+v is no usual weather of a city", p, i+1, m)
			}
			if next := p.months[(i+1)%12]; max(m.temperature-next.temperature, next.temperature-m.temperature) > 10 {
				t.Errorf("%s: %d °C follows %d °C", p, next.temperature, m.temperature)
			}
		}
		for _, name := range p.names() {
			if found, err := find(loadPlaces(), name+", "+p.country); err != nil || found.name != p.name {
				t.Errorf("%s, %s is found as %s, %v", name, p.country, found, err)
			}
		}
	}
}
