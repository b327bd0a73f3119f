package lint

import "testing"

func TestVerbOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]NameVerb{
		"find_order":           {Word: "find", Reads: true},
		"contacts.search":      {Word: "search", Reads: true},
		"createOrder":          {Word: "create", Changes: true},
		"emails-delete-all":    {Word: "delete", Changes: true, Destroys: true},
		"weather":              {},
		"get_or_create_record": {Word: "get", Reads: true},
	} {
		if got := VerbOf(name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
