package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	known := []string{"projectKey", "limit", "status", "id", "größe", "n", "timeoutSeconds", "time-zone", "städte"}
	for given, want := range map[string]string{
		"projectKey": "projectKey", "project_key": "projectKey", "Project-Key": "projectKey", "PROJECT KEY": "projectKey",
		"porjectKey": "projectKey", "projctky": "projectKey", "limt": "limit", "limits": "limit", "sttaus": "status",
		"ID": "id", "di": "id", "N": "n",

		// One character more or less is one edit, whatever it takes in bytes.
		"größ": "größe", "grösse": "", "GRÖSE": "größe", "stadte": "städte", "städtee": "städte",

		// What begins a name stands for it, if that many characters say anything.
		"timeout": "timeoutSeconds", "time": "timeoutSeconds", "Time_z": "time-zone", "sta": "status", "ti": "", "li": "",

		"colour": "", "x": "", "": "", "-": "", "xy": "", "m": "", "projectKeyOfTheBoard": "",
		strings.Repeat("n", 65): "", strings.Repeat("ö", 1_000_000): "",
	} {
		if got := Name(given, known); got != want {
			t.Errorf("Name(%.40q) = %q, want %q", given, got, want)
		}
	}
}

func TestNameOfSeveral(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given string
		known []string
		want  string
	}{
		{"status", []string{"statum", "status"}, "status"},      // the fewest edits
		{"statu", []string{"statue", "status"}, "statue"},       // the first of equals
		{"repor", []string{"reports_of_all", "rep0r"}, "rep0r"}, // a misspelling before a beginning
		{"status", nil, ""},
		{"status", []string{"", strings.Repeat("status", 20)}, ""}, // the long one is not compared
		{"abc", []string{"ab"}, "ab"},
		{"zzz", []string{"aaa"}, ""},
		{"responseformat", []string{"response_format_v2"}, "response_format_v2"},
	} {
		if got := Name(test.given, test.known); got != test.want {
			t.Errorf("Name(%q, %q) = %q, want %q", test.given, test.known, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"web", "web", 0}, {"web", "wbe", 1}, {"abcd", "badc", 2}, {"web", "Web", 1},
		{"kitten", "sitting", 3}, {"jose", "josé", 1}, {"田中", "田口", 1}, {"田中", "中田", 1}, {"été", "ete", 2},
		{"ca", "abc", 3}, // swapped neighbours are not edited again
		{"a", "b", 1}, {"ab", "", 2},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := distance([]rune(pair[0]), []rune(pair[1])); got != test.want {
				t.Errorf("distance(%q, %q) = %d, want %d", pair[0], pair[1], got, test.want)
			}
			for edits := range 5 {
				if got := Within(pair[0], pair[1], edits); got != (test.want <= edits) {
					t.Errorf("Within(%q, %q, %d) = %v", pair[0], pair[1], edits, got)
				}
			}
		}
	}
}

func FuzzWithin(f *testing.F) {
	f.Add("status", "sttaus", 1)
	f.Add("größe", "grosse", 2)
	f.Add("\xff", "", 0)
	f.Fuzz(func(t *testing.T, a, b string, edits int) {
		if len(a) > 200 || len(b) > 200 {
			return
		}
		if Within(a, b, edits) != Within(b, a, edits) {
			t.Errorf("Within(%q, %q, %d) depends on the order", a, b, edits)
		}
		if Within(a, b, edits) && edits < 1<<62 && !Within(a, b+"x", edits+1) {
			t.Errorf("one character more than %q is more than one edit from %q", b, a)
		}
	})
}

func BenchmarkName(b *testing.B) {
	known := []string{"project", "status", "assignee", "limit", "response_format", "created_after", "created_before"}
	for b.Loop() {
		if Name("asignee", known) != "assignee" {
			b.Fatal("not found")
		}
	}
}
