package contract

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/mcp"
)

// writeTree makes files under a new folder named functions and returns its path.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "functions")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const someServer = `{"name":"notes","version":"1.2.3"}`

func named(name string) string {
	return `{"name":"` + name + `","description":"Says whether a host answers.",` +
		`"inputSchema":{"type":"object","additionalProperties":false}}`
}

func TestLoadDir(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{
		"server.json": `{"name":"notes","title":"Notes","version":"1.2.3","description":"Keeps notes.",
			"websiteUrl":"https://notes.example.com","instructions":"List before you write.",
			"icons":[{"src":"data:image/png;base64,iVBORw0KGgo="}]}`,
		"b_second/tool.json":   named("a.first"),
		"a_first/tool.json":    named("b_second"),
		"plain/main.go":        "package main",
		"_draft/tool.json":     "{",
		".hidden/tool.json":    "{",
		"deep/below/tool.json": "{",
		"README.md":            "# Functions",
	})
	set, problems := LoadDir(dir)
	if set == nil {
		t.Fatalf("the folder has errors:\n%s", problems.Error())
	}
	wantServer := Server{
		Implementation: mcp.Implementation{Name: "notes", Title: "Notes", Version: "1.2.3", Description: "Keeps notes.",
			WebsiteURL: "https://notes.example.com", Icons: []mcp.Icon{{Src: "data:image/png;base64,iVBORw0KGgo="}}},
		Instructions: "List before you write.",
	}
	if diff := cmp.Diff(wantServer, set.Server); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	type place struct{ Name, File, Folder string }
	want := []place{
		{"a.first", "functions/b_second/tool.json", filepath.Join(dir, "b_second")},
		{"b_second", "functions/a_first/tool.json", filepath.Join(dir, "a_first")},
	}
	var got []place
	for _, tool := range set.Tools {
		got = append(got, place{tool.Name, tool.File, tool.Folder})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if len(problems) != 1 || problems[0].ID != "name-model-api" {
		t.Errorf("problems = %v, want the warning of a.first", problems)
	}
}

// The faults of all files come in one answer.
func TestLoadDirReportsEveryFile(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{
		"server.json":     `{"name":"notes","versoin":"1"}`,
		"a/tool.json":     `{"name":"a"}`,
		"b/tool.json":     `{`,
		"same1/tool.json": named("same"),
		"same2/tool.json": named("same"),
	})
	set, problems := LoadDir(dir)
	if set != nil {
		t.Error("a folder with errors was loaded")
	}
	want := []string{
		"functions/a/tool.json /description description-missing",
		"functions/a/tool.json /inputSchema missing-field",
		"functions/b/tool.json  json-syntax",
		"functions/same2/tool.json /name duplicate-tool",
		"functions/server.json /version missing-field",
		"functions/server.json /versoin unknown-field",
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.File+" "+p.Pointer+" "+p.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLoadDirOfNothing(t *testing.T) {
	t.Parallel()
	set, problems := LoadDir(filepath.Join(t.TempDir(), "functions"))
	want := "functions: reading the folder: no such file or directory [file-unreadable]\n" +
		"functions/server.json: the file does not exist [file-missing]"
	if set != nil || problems.Error() != want {
		t.Errorf("LoadDir = %v and\n%s\nwant\n%s", set, problems.Error(), want)
	}
}

// A link may lead to a device that never ends, and a file may be what no contract is.
func TestLoadDirOfFilesWithoutAnEnd(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{"server.json": someServer, "large/tool.json": ""})
	if err := os.Truncate(filepath.Join(dir, "large", "tool.json"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "endless"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "endless", "tool.json")); err != nil {
		t.Fatal(err)
	}
	set, problems := LoadDir(dir)
	name := filepath.Base(dir)
	want := name + "/endless/tool.json: reading the file: it is no regular file [file-unreadable]\n" +
		name + "/large/tool.json: reading the file: it has 16777217 bytes; allowed: at most 16777216 [file-unreadable]"
	if set != nil || problems.Error() != want {
		t.Errorf("LoadDir = %v and\n%s\nwant\n%s", set, problems.Error(), want)
	}
}

func TestLoadDirWithoutTools(t *testing.T) {
	t.Parallel()
	set, problems := LoadDir(writeTree(t, map[string]string{"server.json": someServer}))
	if set == nil || len(set.Tools) != 0 || len(problems) != 0 {
		t.Errorf("LoadDir = %v, %v; want a server without tools", set, problems)
	}
}

func TestCheckToolsWithinLimits(t *testing.T) {
	t.Parallel()
	tool := mustParse(t, small(`"contract":{"execution":{"timeoutSeconds":29}},`))
	for limit, want := range map[int]int{0: 0, 28: 1, 29: 0} {
		if got := CheckTools([]*Tool{tool}, ServerLimits{MaxCallSeconds: limit}); len(got) != want {
			t.Errorf("maxCallSeconds %d: problems = %v, want %d", limit, got, want)
		}
	}
}

func TestLoadFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for folder, text := range map[string]string{
		"good": `{"name":"good","description":"Does something good for whoever asks for it.",
			"inputSchema":{"type":"object","additionalProperties":false}}`,
		"broken": `{"name":`,
		"_off":   `{}`,
	} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "tool.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	good, problems := LoadFolder(dir, "good")
	if good == nil || problems.Err() != nil || good.Folder != filepath.Join(dir, "good") {
		t.Errorf("good: got %+v, %v", good, problems)
	}
	broken, problems := LoadFolder(dir, "broken")
	want := filepath.ToSlash(filepath.Join(filepath.Base(dir), "broken", "tool.json"))
	if broken != nil || len(problems.Errors()) == 0 || problems[0].File != want {
		t.Errorf("broken: got %+v, %v", broken, problems)
	}
	for _, folder := range []string{"none", "_off"} {
		if tool, problems := LoadFolder(dir, folder); tool != nil || problems != nil {
			t.Errorf("%s: got %+v, %v", folder, tool, problems)
		}
	}
}
