package integration

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

// small starts a stack of its own with few tools.
func small(t *testing.T, change func(*localstack.Options)) *server {
	t.Helper()
	options := localstack.Options{Functions: "small", Data: filepath.Join(t.TempDir(), "data")}
	if change != nil {
		change(&options)
	}
	s, err := start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// list returns the tools of one page, the cursor of the next one, and the definitions as they came.
func list(t *testing.T, url, cursor string) (names []string, next string, raw string) {
	t.Helper()
	params := ""
	if cursor != "" {
		params = fmt.Sprintf(`"cursor":%q`, cursor)
	}
	a := readAnswer(t, post(t, url, "tools/list", "", params))
	if a.Error != nil {
		t.Fatalf("got error %d %s", a.Error.Code, a.Error.Message)
	}
	var page struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	if err := json.Unmarshal(a.Result, &page); err != nil {
		t.Fatal(err)
	}
	for _, tool := range page.Tools {
		names = append(names, tool.Name)
	}
	return names, page.NextCursor, string(a.Result)
}

// copies returns n publications of the program of the stack's greet tool, which was built in data, by numbered names.
func copies(t *testing.T, s *server, data string, n int) []registry.Publication {
	t.Helper()
	// A function of their own, since greet's is another source's.
	function, err := s.Lambda().Deploy(locallambda.Function{Name: "bulk", Dir: filepath.Join(data, "build", "greet")})
	if err != nil {
		t.Fatal(err)
	}
	publications := make([]registry.Publication, n)
	for i := range publications {
		tool, problems := contract.Parse("bulk/tool.json", fmt.Appendf(nil, `{"name":"bulk_%05d",
			"description":"One of very many tools, which greets somebody by name.",
			"inputSchema":{"type":"object","additionalProperties":false,
			"properties":{"name":{"type":"string","description":"Whom to greet.","default":"nobody"}}},
			"annotations":{"readOnlyHint":true,"openWorldHint":false},
			"contract":{"risk":"low","autonomous":true,"function":{"runtime":"go"}}}`, i))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		publications[i] = registry.Publication{Tool: tool, Function: function}
	}
	return publications
}

// Ten thousand tools list, page and call as ten do, beside a source that owns others; cursors survive a publish.
func TestTenThousandTools(t *testing.T) {
	t.Parallel()
	const many = 10_000
	data := filepath.Join(t.TempDir(), "data")
	s := small(t, func(o *localstack.Options) { o.PageTools, o.Data = 3000, data })
	bulk := copies(t, s, data, many)
	if _, err := s.Publisher().Publish(t.Context(), "bulk", bulk); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tools to be listed", func() bool {
		names, _, _ := list(t, s.URL, "")
		return len(names) > 2
	})
	var all []string
	cursor := ""
	for page := 0; ; page++ {
		names, next, raw := list(t, s.URL, cursor)
		if _, _, again := list(t, s.URL, cursor); again != raw {
			t.Errorf("page %d differs from itself", page)
		}
		all = append(all, names...)
		if next == "" {
			break
		}
		cursor = next
		if page == 1 {
			// The tool that the cursor points at goes, and the list goes on behind it.
			rest := append(bulk[:len(all)-1:len(all)-1], bulk[len(all):]...)
			if _, err := s.Publisher().Publish(t.Context(), "bulk", rest); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(all) != many+2 || all[0] != "bulk_00000" || all[many-1] != "bulk_09999" || all[many] != "greet" {
		t.Fatalf("listed %d tools from %s to %s", len(all), all[0], all[len(all)-1])
	}
	for _, name := range []string{"bulk_00000", "bulk_04711", "bulk_09999", "greet"} {
		if got := call(t, s.URL, name, `{"name":"Ada"}`); got.text() != "Hello, Ada!" {
			t.Errorf("%s says %+v", name, got)
		}
	}
	a := readAnswer(t, post(t, s.URL, "tools/call", "bulk_10000", callParams("bulk_10000", `{}`)))
	if a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("a name that nobody published: %+v", a)
	}
}

// A disabled tool is gone from list and call, and answers as one that never was; enabled again it is back.
func TestDisabledToolIsGone(t *testing.T) {
	t.Parallel()
	s := small(t, nil)
	if got := call(t, s.URL, "greet", `{}`); got.text() != "Hello, world!" {
		t.Fatalf("got %+v", got)
	}
	if err := s.Publisher().SetDisabled(t.Context(), "greet", true); err != nil {
		t.Fatal(err)
	}
	unknown := func() answer { return readAnswer(t, post(t, s.URL, "tools/call", "greet", callParams("greet", `{}`))) }
	eventually(t, "the tool to be gone", func() bool { return unknown().Error != nil })
	if got := unknown(); got.Error.Code != -32602 || got.Error.Message != "Unknown tool: greet" {
		t.Errorf("got %+v", got.Error)
	}
	if names, _, _ := list(t, s.URL, ""); slices.Contains(names, "greet") {
		t.Errorf("still lists %v", names)
	}
	if err := s.Publisher().SetDisabled(t.Context(), "greet", false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tool to be back", func() bool {
		names, _, _ := list(t, s.URL, "")
		return slices.Contains(names, "greet")
	})
}

// An instance that knows only a version that is gone reads the catalogue again and calls the new one.
func TestRemovedVersionIsResolvedOnceMore(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := small(t, func(o *localstack.Options) { o.Data = data })
	if got := call(t, s.URL, "greet", `{}`); got.IsError {
		t.Fatalf("got %+v", got)
	}
	fresh, err := s.Lambda().Deploy(locallambda.Function{Name: "greet", Dir: filepath.Join(data, "build", "greet")})
	if err != nil {
		t.Fatal(err)
	}
	set, problems := contract.LoadDir("small")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	publication := []registry.Publication{{Tool: set.Tools[0], Function: fresh}} // greet comes first
	if _, err := s.Publisher().Publish(t.Context(), localstack.Source, publication); err != nil {
		t.Fatal(err)
	}
	old := s.Functions["greet"]
	if err := s.Lambda().Remove("greet", old[strings.LastIndex(old, ":")+1:]); err != nil {
		t.Fatal(err)
	}
	if got := call(t, s.URL, "greet", `{"name":"Ada"}`); got.text() != "Hello, Ada!" {
		t.Errorf("got %+v", got)
	}
	if len(s.log.find("function version is gone")) == 0 {
		t.Error("the log does not tell that the version was gone, so this test has shown nothing")
	}
}
