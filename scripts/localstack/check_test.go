package localstack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"patchbay/shared/contract"
)

// parse makes a tool of the folder functions/probe.
func parse(t *testing.T, functions, contractFields string) *contract.Tool {
	t.Helper()
	tool, problems := contract.Parse(filepath.Join(functions, "probe", "tool.json"), fmt.Appendf(nil, `{"name":"probe",
		"description":"A tool of a test, which is never called.",
		"inputSchema":{"type":"object","additionalProperties":false},
		"annotations":{"readOnlyHint":true},"contract":{"risk":"low","autonomous":true,%s}}`, contractFields))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return tool
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever a stack cannot build, run or publish is refused by name before it builds anything.
func TestCheckTools(t *testing.T) {
	t.Parallel()
	const (
		node   = `"function":{"runtime":"nodejs","handler":"app.handler"`
		python = `"function":{"runtime":"python","handler":"app.handler"`
		locked = `{"dependencies":{"x":"1"}}`
		pinned = "# why\nsix==1.17.0 \\\n  --hash=sha256:aa\n-c x\n"
	)
	for name, test := range map[string]struct {
		contract string
		files    map[string]string
		says     []string // none: it is let through
	}{
		"go":             {`"function":{"runtime":"go"}`, nil, nil},
		"python":         {python + `}`, nil, nil},
		"python, pinned": {python + `}`, map[string]string{"requirements.txt": pinned}, nil},
		"python, not pinned": {python + `}`, map[string]string{"requirements.txt": "six\nidna==3.10\nnumpy>=2\n"},
			[]string{`"six"`, `"numpy>=2"`, "NAME==VERSION"}},
		"python with a build": {python + `,"build":["make"]}`, map[string]string{"requirements.txt": "six\n"}, nil},
		"node":                {node + `}`, map[string]string{"package.json": `{"type":"module"}`}, nil},
		"node without a lock": {node + `}`, map[string]string{"package.json": locked},
			[]string{"package-lock.json", "npm install"}},
		"node with a lock": {node + `}`, map[string]string{"package.json": locked, "package-lock.json": "{}"}, nil},
		"node, no JSON":    {node + `}`, map[string]string{"package.json": `{`}, []string{"decoding package.json"}},
		"no code":          {`"function":{"arn":"local:nowhere"}`, nil, []string{"local:nowhere", "looks for the code"}},
		"too slow": {`"execution":{"timeoutSeconds":61},"function":{"runtime":"go"}`, nil,
			[]string{"after 60 seconds", "after 61"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			functions := t.TempDir()
			writeFiles(t, filepath.Join(functions, "probe"), test.files)
			s := &Stack{options: Options{Functions: functions, Existing: functions, AnswerWithin: time.Minute}}
			err := s.checkTools([]*contract.Tool{parse(t, functions, test.contract)})
			if len(test.says) == 0 && err != nil {
				t.Fatalf("refused: %v", err)
			}
			for _, part := range test.says {
				if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "tool.json") {
					t.Errorf("error %v does not say %q", err, part)
				}
			}
		})
	}
}

func TestCheckOptions(t *testing.T) {
	t.Parallel()
	good := Options{
		CacheScope: "private", CacheTTL: new(time.Duration),
		Origins: []string{"https://a.example", "http://b.example:8080"},
	}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	bad := Options{
		CacheScope: "secret", CacheTTL: new(-time.Second),
		Origins: []string{"https://a.example/", "b.example", "*", "https://a b"},
	}
	err := bad.check()
	for _, part := range []string{
		`"secret"`, "public, private", "-1s", `"https://a.example/"`, `"b.example"`, `"*"`, `"https://a b"`,
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not say %q", err, part)
		}
	}
}

func TestCacheTTLOfZeroIsNotTheDefault(t *testing.T) {
	t.Parallel()
	if got := (&Stack{options: Options{CacheTTL: new(time.Duration)}}).cacheTTL(); got != 0 {
		t.Errorf("0 is taken for %s", got)
	}
	if got := (&Stack{}).cacheTTL(); got != 5*time.Second {
		t.Errorf("none is taken for %s", got)
	}
}
