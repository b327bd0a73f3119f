package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"patchbay/shared/tool"
)

// explain turns an error of a statement into one that helps to correct it. SQLite's own words are about the caller's
// SQL and name what is wrong with it.
func (d *database) explain(err error) error {
	text := strings.TrimPrefix(err.Error(), "sqlite3: ")
	text = strings.TrimPrefix(text, "SQL logic error: ")
	switch {
	case errors.Is(err, sqlite3.AUTH), errors.Is(err, sqlite3.READONLY):
		return tool.Fail("not_allowed", "SQLite says: %s. The database can only be read, by one SELECT, WITH, VALUES "+
			"or EXPLAIN statement.", text)
	case errors.Is(err, sqlite3.TOOBIG), errors.Is(err, sqlite3.FULL):
		return tool.Fail("too_expensive", "The statement needs too much room (%s). Let it build smaller values and "+
			"sort fewer rows.", text)
	case errors.Is(err, sqlite3.INTERRUPT):
		return tool.Fail("too_expensive", "The statement took too long and was stopped. Join on keys, and narrow it "+
			"with WHERE.")
	case strings.Contains(text, "no such table"), strings.Contains(text, "no such column"):
		return tool.Fail("invalid_query", "SQLite says: %s. The tables are: %s.", text, d.tables())
	}
	return tool.Fail("invalid_query", "SQLite says: %s%s. Correct the statement and try again.", text, near(err))
}

// near quotes the SQL that SQLite stumbled over, where it knows.
func near(err error) string {
	failed, ok := errors.AsType[*sqlite3.Error](err)
	if !ok || failed.SQL() == "" {
		return ""
	}
	rest := failed.SQL()
	if len(rest) > 40 {
		rest = strings.ToValidUTF8(rest[:40], "") + "…"
	}
	return fmt.Sprintf(", at %q", rest)
}

// tables lists all tables with their columns.
func (d *database) tables() string {
	// The statement that failed may have used up its time; this one takes none to speak of.
	defer d.conn.SetInterrupt(d.conn.SetInterrupt(context.Background()))
	stmt, _, err := d.conn.Prepare(`
		SELECT m.name || '(' || group_concat(c.name, ', ') || ')'
		FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' GROUP BY m.name`)
	if err != nil {
		return "not known: " + err.Error()
	}
	defer stmt.Close()
	var tables []string
	for stmt.Step() {
		tables = append(tables, stmt.ColumnText(0))
	}
	return strings.Join(tables, ", ")
}
