package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/tool/tooltest"
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	tooltest.Check(t, execute(openRegions()))
}

// run calls the tool on databases of its own, with all the time that a busy machine may need.
func run(t *testing.T, region, query string) *tooltest.Result {
	t.Helper()
	regions := openRegions()
	for _, db := range regions {
		db.timeout = time.Hour
	}
	return tooltest.Call(t, execute(regions), Input{Region: region, Query: query})
}

func TestRows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query string
		want  Output
	}{
		"an aggregate": {
			"SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY status",
			Output{Columns: []string{"status", "n"}, Rows: [][]any{{"open", 1.}, {"returned", 1.}, {"shipped", 3.}}},
		},
		"no rows": {
			"SELECT name FROM customers WHERE id = 99", Output{Columns: []string{"name"}, Rows: [][]any{}},
		},
		"every type": {
			"VALUES (1, 1.5, 'x', NULL, x'00ff')",
			Output{Columns: names(5), Rows: [][]any{{1., 1.5, "x", nil, "00ff"}}},
		},
		"an infinity": {"VALUES (9e999, -9e999)", Output{Columns: names(2), Rows: [][]any{{"+Inf", "-Inf"}}}},
		"what trails": {"/* a */ SELECT ';' AS a; -- b;\n;", Output{Columns: []string{"a"}, Rows: [][]any{{";"}}}},
		"a small plan": {
			"EXPLAIN QUERY PLAN VALUES (1)",
			Output{Columns: []string{"id", "parent", "notused", "detail"},
				Rows: [][]any{{1., 0., 0., "SCAN CONSTANT ROW"}}},
		},
		"the columns of a table": {
			"SELECT name FROM pragma_table_info('customers') LIMIT 2",
			Output{Columns: []string{"name"}, Rows: [][]any{{"id"}, {"name"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tooltest.Structured[Output](t, run(t, "us-west1", test.query))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// names are the columns of VALUES.
func names(n int) []string {
	return []string{"column1", "column2", "column3", "column4", "column5"}[:n]
}

func TestRegionsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[any]string{}
	for _, region := range []string{"us-west1", "us-east1", "europe-west1"} {
		got := tooltest.Structured[Output](t, run(t, region, "SELECT group_concat(name) FROM customers"))
		customers := got.Rows[0][0]
		if other, ok := seen[customers]; ok {
			t.Errorf("%s and %s have the same customers", region, other)
		}
		seen[customers] = region
	}
	if got := run(t, "mars", "SELECT 1"); !got.Refused || !strings.Contains(got.Text(), "europe-west1") {
		t.Errorf("result = %+v, want a refusal that names the regions", got)
	}
}

func TestTruncation(t *testing.T) {
	t.Parallel()
	const count = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %) SELECT "
	tests := map[string]struct {
		query     string
		rows      int
		truncated bool
	}{
		"as many as allowed": {strings.Replace(count, "%", "200", 1) + "x FROM c", 200, false},
		"one too many":       {strings.Replace(count, "%", "201", 1) + "x FROM c", 200, true},
		"no end":             {strings.Replace(count, "%", "-1", 1) + "x FROM c", 200, true},
		"wide rows":          {strings.Replace(count, "%", "9", 1) + "hex(zeroblob(20000)) FROM c", 2, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tooltest.Structured[Output](t, run(t, "us-west1", test.query))
			if len(got.Rows) != test.rows || got.Truncated != test.truncated || (got.Hint != "") != test.truncated {
				t.Errorf("%d rows, truncated %v, hint %q", len(got.Rows), got.Truncated, got.Hint)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "stolen.db")
	tests := map[string]struct{ query, code, want string }{
		"a table that is not there": {
			"SELECT * FROM custmers", "invalid_query",
			"no such table: custmers. The tables are: customers(id, name, city, since), order_items(",
		},
		"a column that is not": {
			"SELECT nme FROM customers", "invalid_query", "no such column: nme. The tables are: customers(",
		},
		"a misspelled keyword":   {"SELEC 1", "invalid_query", `near "SELEC": syntax error, at "SELEC 1"`},
		"no statement":           {"-- nothing", "invalid_query", "holds no statement"},
		"two statements":         {"SELECT 1; SELECT 2", "not_allowed", "Only one statement"},
		"a second that is wrong": {"SELECT 1; SELEC 2", "not_allowed", "Only one statement"},
		"INSERT": {
			"INSERT INTO products VALUES (10, 'a', 'b', 1)", "not_allowed", "can only be read",
		},
		"UPDATE … RETURNING": {
			"UPDATE orders SET status = 'open' RETURNING id", "not_allowed", "can only be read",
		},
		"a hidden DELETE":   {"WITH x AS (SELECT 1) DELETE FROM orders", "not_allowed", "can only be read"},
		"DROP":              {"DROP TABLE orders", "not_allowed", "can only be read"},
		"CREATE TEMP TABLE": {"CREATE TEMP TABLE x (a)", "not_allowed", "can only be read"},
		"EXPLAIN DROP":      {"EXPLAIN DROP TABLE orders", "not_allowed", "can only be read"},
		"PRAGMA":            {"PRAGMA query_only = 0", "not_allowed", "can only be read"},
		"ATTACH":            {"ATTACH '" + file + "' AS x", "not_allowed", "can only be read"},
		"VACUUM INTO":       {"VACUUM INTO '" + file + "'", "not_allowed", "can only be read"},
		"BEGIN":             {"BEGIN", "not_allowed", "can only be read"},
		"ANALYZE":           {"ANALYZE", "not_allowed", "can only be read"},
		"load_extension":    {"SELECT load_extension('x')", "invalid_query", "load_extension"},
		"a huge value":      {"SELECT length(hex(zeroblob(1000000000)))", "too_expensive", "too much room"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "us-west1", test.query)
			if got.Code != test.code || !strings.Contains(got.Text(), test.want) {
				t.Errorf("code %q, text %q, want %q and %q", got.Code, got.Text(), test.code, test.want)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("a statement wrote a file: %v", err)
		}
	})
}

// A statement without an end is stopped, also when its first row came at once, and the database serves on.
func TestTime(t *testing.T) {
	t.Parallel()
	regions := openRegions()
	regions["us-east1"].timeout = 50 * time.Millisecond
	handler := execute(regions)
	const endless = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c)"
	for _, query := range []string{"SELECT * FROM " + endless, "SELECT 1 UNION ALL SELECT * FROM " + endless} {
		got := tooltest.Call(t, handler, Input{Region: "us-east1", Query: query})
		if got.Code != "too_expensive" || !strings.Contains(got.Text(), "took too long") {
			t.Errorf("code %q, text %q", got.Code, got.Text())
		}
	}
	regions["us-east1"].timeout = maxTime
	got := tooltest.Structured[Output](t, tooltest.Call(t, handler, Input{Region: "us-east1", Query: "SELECT 7 AS n"}))
	if len(got.Rows) != 1 || got.Rows[0][0] != 7. {
		t.Errorf("rows = %v", got.Rows)
	}
}

// The dispatcher's deadline stops a statement as well.
func TestDeadline(t *testing.T) {
	t.Parallel()
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
	got := tooltest.Call(t, execute(openRegions()), Input{Region: "us-east1", Query: endless},
		tooltest.Options{Deadline: time.Now().Add(50 * time.Millisecond)})
	if got.Code != "too_expensive" {
		t.Errorf("code %q, text %q", got.Code, got.Text())
	}
}
