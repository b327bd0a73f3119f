package environment

import (
	"regexp"
	"testing"
	"time"
)

func TestReader(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z]+$`)
	reads := map[string]func(*Reader) any{
		"optional":     func(r *Reader) any { return r.Optional("X") },
		"required":     func(r *Reader) any { return r.Required("X") },
		"matching":     func(r *Reader) any { return r.Matching("X", form, "letters") },
		"one of":       func(r *Reader) any { return r.OneOf("X", "public", "private", "secret") },
		"boolean":      func(r *Reader) any { return r.Boolean("X") },
		"count":        func(r *Reader) any { return r.Count("X") },
		"count to":     func(r *Reader) any { return r.CountTo("X", 900) },
		"milliseconds": func(r *Reader) any { return r.Milliseconds("X", time.Minute) },
	}
	for _, test := range []struct {
		read, value string
		want        any    // what is read; nil where it is wrong
		must        string // what the fault says
	}{
		{"optional", "", "", ""},
		{"optional", " x ", " x ", ""},
		{"required", "x", "x", ""},
		{"required", "", nil, "set"},
		{"matching", "x", "x", ""},
		{"matching", "X", nil, "letters"},
		{"matching", "", nil, "letters"},
		{"one of", "", "public", ""},
		{"one of", "public", "public", ""},
		{"one of", "secret", "secret", ""},
		{"one of", "Secret", nil, "public or private or secret"},
		{"boolean", "", false, ""},
		{"boolean", "1", true, ""},
		{"boolean", "false", false, ""},
		{"boolean", "yes", nil, "true or false"},
		{"count", "", 0, ""},
		{"count", "1", 1, ""},
		{"count", "0", nil, "a whole number above zero"},
		{"count", "1.5", nil, "a whole number above zero"},
		{"count to", "900", 900, ""},
		{"count to", "901", nil, "a whole number from 1 to 900"},
		{"count to", "0", nil, "a whole number from 1 to 900"},
		{"count to", "", nil, "a whole number from 1 to 900"},
		{"milliseconds", "", time.Minute, ""},
		{"milliseconds", "0", time.Duration(0), ""},
		{"milliseconds", "31622400000", longest, ""},
		{"milliseconds", "31622400001", nil, "a number of milliseconds, at most a year"},
		{"milliseconds", "-1", nil, "a number of milliseconds, at most a year"},
		{"milliseconds", "1s", nil, "a number of milliseconds, at most a year"},
	} {
		r := New(func(string) string { return test.value })
		got := reads[test.read](r)
		if test.must == "" && (got != test.want || r.Err() != nil) {
			t.Errorf("%s of %q: %v, %v; want %v", test.read, test.value, got, r.Err(), test.want)
		}
		fault := `environment variable X is "` + test.value + `"; it must be ` + test.must
		if test.must != "" && (r.Err() == nil || r.Err().Error() != fault) {
			t.Errorf("%s of %q: error %v, want %s", test.read, test.value, r.Err(), fault)
		}
	}
}

// A program tells one fault at a time, in the order in which it reads.
func TestFirstFault(t *testing.T) {
	t.Parallel()
	r := New(func(string) string { return "" })
	r.Required("A")
	r.Fault("B", "b", "another")
	if want := `environment variable A is ""; it must be set`; r.Err() == nil || r.Err().Error() != want {
		t.Errorf("error %v, want %s", r.Err(), want)
	}
}

// A file that comes with the program is named by its name alone.
func TestFile(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", "authorization.json": "/var/task/authorization.json", "/opt/authorization.json": "/opt/authorization.json",
	} {
		variables := map[string]string{"LAMBDA_TASK_ROOT": "/var/task", "FILE": value}
		if got := New(func(name string) string { return variables[name] }).File("FILE"); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}
