package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/tool/tooltest"
)

var handler = search(loadContacts())

func TestTypesAndSchemasAgree(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, handler)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string][]string{
		`{"query":"ada"}`:                  {"Ada Lovelace"},
		`{"query":" LOVELACE  ada "}`:      {"Ada Lovelace"},
		`{"query":"ZOË"}`:                  {"Zoë Çelik"},
		`{"query":"jun.tanaka@example"}`:   {"Jun Tanaka"},
		`{"query":"berg ski"}`:             {"Sven Berg"},
		`{"query":"owner example.com"}`:    {"Bela Novak", "Mateo Díaz", "Sven Berg"},
		`{"query":"owner","limit":2}`:      {"Bela Novak", "Mateo Díaz"},
		`{"query":"sales ada"}`:            nil,
		`{"query":"Lovelace\nengineer"}`:   {"Ada Lovelace"},
		`{"query":"name,email"}`:           nil,
		`{"query":"example","limit":20}`:   names(loadContacts()),
		`{"query":"logistics","limit":20}`: {"Emeka Obi", "Priya Nair", "Zoë Çelik"},
	} {
		got := tooltest.Structured[output](t, tooltest.Call(t, handler, arguments))
		if diff := cmp.Diff(want, names(got.Contacts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}

func names(contacts []contact) []string {
	var names []string
	for _, c := range contacts {
		names = append(names, c.Name)
	}
	return names
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"query":"ada"}`:               "",
		`{"query":"example"}`:           "These are 5 of 15. Give more words to narrow the search.",
		`{"query":"Ada Lovelase"}`:      "No contact fits all these words. Did you mean Ada Lovelace?",
		`{"query":"goran kovac sales"}`: "No contact fits all these words. Did you mean Goran Kovač?",
		`{"query":"Xanadu"}`: "No contact fits all these words. Give fewer of them, or ask the user for the " +
			"address.",
	} {
		got := tooltest.Structured[output](t, tooltest.Call(t, handler, arguments))
		if diff := cmp.Diff(want, got.Note); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{}`:                         "query",
		`{"query":"a"}`:              "query",
		`{"query":"  "}`:             "query",
		`{"query":"ada","limit":0}`:  "limit",
		`{"query":"ada","limit":21}`: "limit",
		`{"query":"ada","page":2}`:   "page",
	} {
		result := tooltest.Call(t, handler, arguments)
		if !result.Refused || !strings.Contains(result.Text(), want) {
			t.Errorf("%s: refused %v, text %q; want one that names %s", arguments, result.Refused, result.Text(), want)
		}
	}
}

// The data is made by hand; what no row may break is checked here.
func TestData(t *testing.T) {
	t.Parallel()
	contacts := loadContacts()
	if !slices.IsSortedFunc(contacts, func(a, b contact) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the contacts are not in the order of their names")
	}
	for _, c := range contacts {
		_, domain, _ := strings.Cut(c.Email, "@")
		if c.Name == "" || c.Company == "" || c.Role == "" || !strings.HasPrefix(domain, "example.") {
			t.Errorf("%+v lacks something, or has an address that may be somebody's", c)
		}
	}
}
