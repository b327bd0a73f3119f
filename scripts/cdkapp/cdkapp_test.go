package cdkapp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// An app gets what the CDK's command line gives it: cdk.json, what look-ups found, and last the options.
func TestContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"cdk.json":         `{"app": "go run .", "context": {"flag": true, "stage": "dev", "shadowed": 1}}`,
		"cdk.context.json": `{"found": ["a"], "shadowed": 2}`,
	})
	o := Options{App: dir, Stage: "prod", Local: true, Context: map[string]string{"functions": "../x"}}
	got, err := o.context()
	if err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if strings.HasPrefix(name, "aws:cdk:") && name != "aws:cdk:enable-asset-metadata" {
			delete(got, name)
		}
	}
	want := map[string]any{
		"flag": true, "stage": "prod", "local": "true", "functions": "../x", "found": []any{"a"}, "shadowed": 2.0,
		"aws:cdk:enable-asset-metadata": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

// What constructs say is found in both places that the CDK writes it to; what is an error to them is one.
func TestMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"manifest.json": `{"artifacts": {
			"b": {"metadata": {"/b": [{"type": "aws:cdk:warning", "data": "careful [ack: x]"}, {"type": "aws:cdk:logicalId"}]}},
			"a": {"additionalMetadataFile": "a.json"}
		}}`,
		"a.json": `{"/a": [{"type": "aws:cdk:info", "data": "do this"}]}`,
	})
	o := Options{Output: dir}
	got, err := o.read()
	if err != nil {
		t.Fatal(err)
	}
	want := []Message{{"info", "/a", "do this"}, {"warning", "/b", "careful"}}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	write(t, dir, map[string]string{"a.json": `{"/a": [{"type": "aws:cdk:error", "data": "not this"}]}`})
	if _, err := o.read(); err == nil || !strings.Contains(err.Error(), "not this (/a)") {
		t.Errorf("error %v", err)
	}
}

func TestOldAssetsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"x.assets.json": `{"files": {"1": {"source": {"path": "asset.1"}}, "2": {"source": {"path": "asset.2.json"}},
			"t": {"source": {"path": "x.template.json"}}}}`,
		"asset.1/bootstrap": "", "asset.2.json": "", "asset.0/bootstrap": "", "asset.3.json": "", "x.template.json": "",
	})
	if err := removeOldAssets(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	want := []string{"asset.1", "asset.2.json", "x.assets.json", "x.template.json"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// A synthesis that fails leaves no template of another stage to be taken for its own.
func TestOldTemplatesGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"manifest.json", "a-dev.template.json", "a-dev.assets.json", "asset.1", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOldTemplates(dir); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	want := []string{filepath.Join(dir, "asset.1"), filepath.Join(dir, "notes.txt")}
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %q, %v; want %q", left, err, want)
	}
}

func TestSynthTellsWhatIsNoApp(t *testing.T) {
	t.Parallel()
	_, err := Synth(t.Context(), Options{Module: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "it has no cdk.json; name the folder with --app") {
		t.Errorf("error %v", err)
	}
}
