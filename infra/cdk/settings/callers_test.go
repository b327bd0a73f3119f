package settings

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/authorization"
)

const oneIssuer = `{"issuers": [{"issuer": "https://login.example.com"}]}`

// parseLayers reads a stage that says something on top of defaults.
func parseLayers(defaults, stage string) (*Stage, error) {
	return Parse([]byte(`{"defaults": {`+defaults+`}, "stages": {"dev": {`+stage+`}}}`), "dev", "tools")
}

// What a stage says of who may call replaces what the defaults say.
func TestCallersOfTwoLayers(t *testing.T) {
	t.Parallel()
	first, second := `"authorization": `+oneIssuer,
		`"authorization": {"issuers": [{"issuer": "https://other.example.com"}], "audiences": ["a"]}`
	for name, test := range map[string]struct {
		defaults, stage string
		anonymous       bool
		issuer          string
	}{
		"nothing":                          {"", "", false, ""},
		"everybody":                        {"", `"anonymous": true`, true, ""},
		"everybody by default":             {`"anonymous": true`, "", true, ""},
		"not everybody":                    {`"anonymous": true`, `"anonymous": false`, false, ""},
		"tokens":                           {"", first, false, "https://login.example.com"},
		"tokens by default":                {first, "", false, "https://login.example.com"},
		"tokens instead of everybody":      {`"anonymous": true`, first, false, "https://login.example.com"},
		"everybody instead of tokens":      {first, `"anonymous": true`, true, ""},
		"tokens of others":                 {first, second, false, "https://other.example.com"},
		"tokens, and not everybody":        {"", first + `, "anonymous": false`, false, "https://login.example.com"},
		"tokens by default, not everybody": {first, `"anonymous": false`, false, "https://login.example.com"},
	} {
		s, err := parseLayers(test.defaults, test.stage)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		issuer := ""
		if s.Authorization != nil {
			issuer = s.Authorization.Issuers[0].URL
		}
		if s.Anonymous != test.anonymous || issuer != test.issuer {
			t.Errorf("%s: anonymous %v, issuer %q; want %v, %q", name, s.Anonymous, issuer, test.anonymous, test.issuer)
		}
	}
}

// Of two configurations nothing is mixed: an audience of the defaults' issuer is not one of the stage's.
func TestAuthorizationIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	s, err := parseLayers(`"authorization": {"issuers": [{"issuer": "https://a.example", "scopePrefix": "a/"},
		{"issuer": "https://b.example"}], "audiences": ["a"], "leewaySeconds": 5, "scopeHierarchy": {"x": ["y"]},
		"initialScopes": ["x"], "challenge": "static"}`, `"authorization": {"issuers": [{"issuer": "https://c.example"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want, err := authorization.Parse([]byte(`{"issuers": [{"issuer": "https://c.example"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Authorization); diff != "" {
		t.Errorf("authorization (-want +got):\n%s", diff)
	}
}

func TestCallersRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ defaults, stage, want string }{
		"both": {"", `"anonymous": true, "authorization": ` + oneIssuer,
			`stages.dev has both "anonymous": true and "authorization"; allowed: one of them`},
		"both by default": {`"anonymous": true, "authorization": ` + oneIssuer, "",
			`defaults has both "anonymous": true and "authorization"`},
		"no issuer":  {"", `"authorization": {}`, `stages.dev.authorization.issuers`},
		"no issuers": {"", `"authorization": {"issuers": []}`, `stages.dev.authorization.issuers`},
		"misspelled": {"", `"authorization": {"issuer": []}`, `did you mean "issuers"?`},
		"null":       {"", `"authorization": null`, `stages.dev.authorization`},
		"a provider": {"", `"authorization": {"issuers": [{"issuer": "https://a.example", "provider": "cognit"}]}`,
			`"cognito"`},
		"an algorithm": {"", `"authorization": {"issuers": [{"issuer": "https://a.example", "algorithms": ["HS256"]}]}`,
			`HS256`},
		"no https": {"", `"authorization": {"issuers": [{"issuer": "http://login.example.com"}]}`,
			`stage dev: authorization.issuers[0].issuer: "http://login.example.com"; allowed: https`},
		"twice": {"", `"authorization": {"issuers": [{"issuer": "https://a.example"}, {"issuer": "https://a.example"}]}`,
			`is there twice`},
		"a quote in a scope": {"", `"authorization": {"issuers": [{"issuer": "https://a.example"}],
			"initialScopes": ["o'clock"]}`, `stages.dev.authorization.initialScopes`},
		"a quote in a prefix": {"", `"authorization": {"issuers": [{"issuer": "https://a.example", "scopePrefix": "a'"}]}`,
			`scopePrefix`},
		"a front for nobody": {"", `"authorization": {"issuers": [{"issuer": "https://a.example"}],
			"front": {"issuer": "https://b.example", "clientId": "c", "redirectUris": ["https://x.example/cb"]}}`,
			`"https://b.example" is none of the issuers`},
		"leeway": {"", `"authorization": {"issuers": [{"issuer": "https://a.example"}], "leewaySeconds": 301}`, `300`},
	} {
		if _, err := parseLayers(test.defaults, test.stage); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error that says %s", name, err, test.want)
		}
	}
}

// The schema, by which editors complete, names what the package reads, and nothing else.
func TestTheSchemaDescribesAuthorization(t *testing.T) {
	t.Parallel()
	var file struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Description string
				Properties  map[string]struct{ Description string }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schemaText, &file); err != nil {
		t.Fatal(err)
	}
	front := file.Definitions["authorization"].Properties["front"].Properties
	for what, test := range map[string]struct {
		described any
		read      reflect.Type
	}{
		"authorization": {file.Definitions["authorization"].Properties, reflect.TypeFor[authorization.Config]()},
		"issuer":        {file.Definitions["issuer"].Properties, reflect.TypeFor[authorization.Issuer]()},
		"front":         {front, reflect.TypeFor[authorization.Front]()},
	} {
		var described, read []string
		for _, name := range reflect.ValueOf(test.described).MapKeys() {
			described = append(described, name.String())
			if reflect.ValueOf(test.described).MapIndex(name).FieldByName("Description").String() == "" {
				t.Errorf("%s.%s has no description", what, name)
			}
		}
		for field := range test.read.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			read = append(read, name)
		}
		slices.Sort(described)
		slices.Sort(read)
		if diff := cmp.Diff(read, described); diff != "" {
			t.Errorf("members of %s (-read +described):\n%s", what, diff)
		}
	}
}

// What the schema lists the package takes.
func TestTheSchemasValuesAreTaken(t *testing.T) {
	t.Parallel()
	var file struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Enum  []string
				Items struct{ Enum []string }
			}
		} `json:"$defs"`
	}
	// Other enumerations have numbers.
	var raw map[string]map[string]json.RawMessage
	if err := json.Unmarshal(schemaText, &struct {
		Definitions *map[string]map[string]json.RawMessage `json:"$defs"`
	}{&raw}); err != nil {
		t.Fatal(err)
	}
	delete(raw, "stage")
	encoded, err := json.Marshal(map[string]any{"$defs": raw})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &file); err != nil {
		t.Fatal(err)
	}
	issuer := file.Definitions["issuer"].Properties
	if len(issuer["provider"].Enum) < 6 || len(issuer["algorithms"].Items.Enum) < 10 {
		t.Errorf("the schema lists %v and %v", issuer["provider"].Enum, issuer["algorithms"].Items.Enum)
	}
	for _, provider := range issuer["provider"].Enum {
		checkTaken(t, `{"issuers": [{"issuer": "https://a.example", "provider": "`+provider+`"}]}`)
	}
	for _, algorithm := range issuer["algorithms"].Items.Enum {
		checkTaken(t, `{"issuers": [{"issuer": "https://a.example", "algorithms": ["`+algorithm+`"]}]}`)
	}
	for _, mode := range file.Definitions["authorization"].Properties["challenge"].Enum {
		checkTaken(t, `{"issuers": [{"issuer": "https://a.example"}], "challenge": "`+mode+`"}`)
	}
}

func checkTaken(t *testing.T, text string) {
	t.Helper()
	if _, err := parseLayers("", `"authorization": `+text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// The repository's own stages say who may call, but for the one that whoever deploys must decide about.
func TestWhoMayCallTheRepositorysStages(t *testing.T) {
	t.Parallel()
	anonymous := map[string]bool{}
	for _, name := range []string{"dev", "examples", "secured", "prod"} {
		s, err := Read("../patchbay.json", name, "patchbay-examples")
		if err != nil {
			t.Fatal(err)
		}
		if s.Anonymous || s.Authorization != nil {
			anonymous[name] = s.Anonymous
		}
	}
	if diff := cmp.Diff(map[string]bool{"dev": true, "examples": true, "secured": false}, anonymous); diff != "" {
		t.Errorf("anonymous stages, of those that say who may call (-want +got):\n%s\n%v", diff,
			slices.Sorted(maps.Keys(anonymous)))
	}
}
