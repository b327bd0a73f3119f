package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"patchbay/shared/version"
)

// release is what testdata/release-<version>.json says: in which forms that release writes what outlives it.
type release struct {
	Formats []format `json:"formats"`
}

// format is a form of stored, sealed or sent data. Golden are files of it as that release wrote them, which the tests
// of its package read, with their SHA-256; where there are none, Why says why none are needed.
type format struct {
	Name     string            `json:"name"`
	File     string            `json:"file"`
	Constant string            `json:"constant"`
	Version  string            `json:"version"`
	Golden   map[string]string `json:"golden,omitempty"`
	Why      string            `json:"why,omitempty"`
}

// releases reads all of them, the oldest first.
func releases(t *testing.T) (versions []string, all map[string]release) {
	t.Helper()
	files, err := filepath.Glob("testdata/release-*.json")
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]release{}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "release-"), ".json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r release
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		versions, all[name] = append(versions, name), r
	}
	slices.SortFunc(versions, func(a, b string) int { return semver.Compare("v"+a, "v"+b) })
	return versions, all
}

func TestTheReleaseIsASemanticVersionAndInTheChangelog(t *testing.T) {
	t.Parallel()
	if !semver.IsValid("v" + version.Version) {
		t.Errorf("%q is no semantic version", version.Version)
	}
	versions, _ := releases(t)
	if len(versions) == 0 || versions[len(versions)-1] != version.Version {
		t.Errorf("the newest of the releases %v is not %s; add testdata/release-%s.json, from the one before it",
			versions, version.Version, version.Version)
	}
	for _, v := range versions {
		if section(t, v) == "" {
			t.Errorf("CHANGELOG.md has no section ## [%s]; whoever upgrades reads there what changes for them", v)
		}
	}
}

// section is what the changelog says of a release.
func section(t *testing.T, v string) string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, "CHANGELOG.md"), "\n## ["+v+"]")
	if !found {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n## [")
	return text
}

// A format's version in the code is the one that the release's file says, and no version is in the code alone: whoever
// raises one finds here what else that takes.
func TestFormatsAreThoseOfTheRelease(t *testing.T) {
	t.Parallel()
	_, all := releases(t)
	inCode := formatVersions(t)
	for _, f := range all[version.Version].Formats {
		at := f.File + " " + f.Constant
		got, there := inCode[at]
		if !there {
			t.Errorf("release %s has the format %q at %s, which is not there", version.Version, f.Name, at)
		} else if got != f.Version {
			t.Errorf("%s is %s, and in release %s %q is %s. Once that is released: raise the version in shared/version, copy "+
				"its file in tests/rules/testdata, keep a golden file of the new form beside the old ones, and say in "+
				"CHANGELOG.md what it means for an upgrade", at, got, version.Version, f.Name, f.Version)
		}
		delete(inCode, at)
	}
	for _, at := range slices.Sorted(maps.Keys(inCode)) {
		t.Errorf("%s looks like the version of a format and is in no release's file; add it to testdata/release-%s.json",
			at, version.Version)
	}
}

// formatName is how the constants of formats are called.
var formatName = regexp.MustCompile(`^(?:[a-z]+)?[vV]ersion$`)

// formatVersions returns the literals of all constants that say a format's version, by file and name.
func formatVersions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{"shared", "dispatcher"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, 0)
			if err != nil {
				return err
			}
			for constant, value := range integers(file) {
				if formatName.MatchString(constant) {
					found[name+" "+constant] = value
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The form of sealed texts is told by their beginning.
	found["shared/seal/text.go prefix"] = sealedPrefix(t)
	return found
}

// integers returns the constants of a file that are integer literals.
func integers(file *ast.File) map[string]string {
	constants := map[string]string{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			for i, name := range value.Names {
				if i >= len(value.Values) {
					continue
				}
				if literal, ok := value.Values[i].(*ast.BasicLit); ok && literal.Kind == token.INT {
					constants[name.Name] = literal.Value
				}
			}
		}
	}
	return constants
}

var sealed = regexp.MustCompile(`prefix\s+= "(pb\d+)"`)

func sealedPrefix(t *testing.T) string {
	t.Helper()
	match := sealed.FindStringSubmatch(read(t, "shared/seal/text.go"))
	if match == nil {
		t.Fatal("shared/seal/text.go does not say how sealed texts begin")
	}
	return match[1]
}

// What a release wrote is kept as it was, and read by the tests of this one; a new version of a format has a golden
// file of its own and a line in the changelog.
func TestGoldenFilesOfEveryReleaseAreKeptAndRead(t *testing.T) {
	t.Parallel()
	versions, all := releases(t)
	before := map[string]format{}
	for _, v := range versions {
		for _, f := range all[v].Formats {
			if len(f.Golden) == 0 && f.Why == "" {
				t.Errorf("release %s, %q: no golden file, and no reason why none is needed", v, f.Name)
			}
			for name, sum := range f.Golden {
				checkGolden(t, v, name, sum)
			}
			if old, known := before[f.Name]; known && old.Version != f.Version {
				checkRaised(t, v, old, f)
			}
			before[f.Name] = f
		}
	}
}

func checkGolden(t *testing.T, v, name, sum string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Errorf("release %s: %v; a later release must go on reading what it wrote", v, err)
		return
	}
	digest := sha256.Sum256(content)
	if got := hex.EncodeToString(digest[:]); got != sum {
		t.Errorf("release %s: %s has the SHA-256 %s, not %s; what a release wrote is never written again", v, name, got, sum)
	}
	dir := path.Dir(name)
	for !strings.HasSuffix(dir, "testdata") {
		dir = path.Dir(dir)
	}
	if !readByTests(t, path.Dir(dir), strings.TrimPrefix(name, path.Dir(dir)+"/")) {
		t.Errorf("release %s: no test of %s reads %s", v, path.Dir(dir), name)
	}
}

// readByTests reports whether a test of the package names the file, or the folder that it is in.
func readByTests(t *testing.T, pkg, name string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, test := range tests {
		source, err := os.ReadFile(test)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	names := func(text string) bool { return strings.Contains(all.String(), `"`+text+`"`) }
	return names(name) || names(path.Dir(name)) && names(path.Base(name))
}

func checkRaised(t *testing.T, v string, old, f format) {
	t.Helper()
	fresh := f.Why != ""
	for name := range f.Golden {
		if _, kept := old.Golden[name]; !kept {
			fresh = true
		}
	}
	if !fresh {
		t.Errorf("release %s raises %q from %s to %s without a golden file of its own", v, f.Name, old.Version, f.Version)
	}
	if !strings.Contains(section(t, v), f.Name) {
		t.Errorf("release %s raises %q from %s to %s, and CHANGELOG.md does not say so", v, f.Name, old.Version, f.Version)
	}
}
