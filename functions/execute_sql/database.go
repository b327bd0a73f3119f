package main

import (
	"context"
	"embed"
	"fmt"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"patchbay/shared/tool"
)

// What one statement may use. Time ends before the function's own, so that the caller hears why.
const (
	maxRows  = 200
	maxBytes = 100_000 // of the values of all rows
	maxTime  = 5 * time.Second
	maxValue = 1 << 20 // bytes of one text or BLOB; what is sorted goes to temporary files, so memory stays bounded
)

//go:embed data
var data embed.FS

// database is the shop of one region, in memory. It is safe for concurrent use.
type database struct {
	timeout time.Duration

	mu   sync.Mutex // a connection serves one statement at a time
	conn *sqlite3.Conn
}

// openRegions opens the databases of all regions. It panics where the data is broken, which stops the function when it
// starts.
func openRegions() map[string]*database {
	regions := map[string]*database{}
	for _, region := range []string{"us-west1", "us-east1", "europe-west1"} {
		db, err := open("data/shop.sql", "data/"+region+".sql")
		if err != nil {
			panic(fmt.Sprintf("opening the database of %s: %v", region, err))
		}
		regions[region] = db
	}
	return regions
}

// open makes a database from scripts and then lets nobody change it.
func open(scripts ...string) (*database, error) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	for _, file := range scripts {
		script, err := data.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := conn.Exec(string(script)); err != nil {
			return nil, fmt.Errorf("running %s: %w", file, err)
		}
	}
	if err := restrict(conn); err != nil {
		return nil, fmt.Errorf("restricting the connection: %w", err)
	}
	return &database{conn: conn, timeout: maxTime}, nil
}

// restrict makes a connection read-only for good. What a statement may do is decided by SQLite when it compiles the
// statement, not by looking at its text, which can hide anything.
func restrict(conn *sqlite3.Conn) error {
	if err := conn.Exec("PRAGMA query_only = 1"); err != nil {
		return err
	}
	conn.Limit(sqlite3.LIMIT_LENGTH, maxValue)
	conn.Limit(sqlite3.LIMIT_ATTACHED, 0)
	return conn.SetAuthorizer(allowReading)
}

// allowReading denies whatever is not needed to read the database and its schema: writes, settings, ATTACH,
// transactions, extensions.
func allowReading(action sqlite3.AuthorizerActionCode, name3rd, name4th, _, _ string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_READ, sqlite3.AUTH_RECURSIVE:
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_FUNCTION:
		if name4th != "load_extension" {
			return sqlite3.AUTH_OK
		}
	case sqlite3.AUTH_PRAGMA:
		if name3rd == "table_info" || name3rd == "table_list" {
			return sqlite3.AUTH_OK
		}
	}
	return sqlite3.AUTH_DENY
}

// query runs one statement within the limits.
func (d *database) query(ctx context.Context, query string) (Output, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	defer d.conn.SetInterrupt(d.conn.SetInterrupt(ctx))

	stmt, tail, err := d.conn.Prepare(query)
	if err != nil {
		return Output{}, d.explain(err)
	}
	if stmt == nil {
		return Output{}, tool.Fail("invalid_query", "The query holds no statement.")
	}
	defer stmt.Close()
	if d.hasStatement(tail) {
		return Output{}, tool.Fail("not_allowed", "Only one statement can be run in a call. Send the others one "+
			"by one.")
	}
	out, err := collect(stmt)
	if err != nil {
		return Output{}, d.explain(err)
	}
	return out, nil
}

// hasStatement reports whether there is more than comments, semicolons and space. What does not compile is a statement.
func (d *database) hasStatement(tail string) bool {
	for tail != "" {
		stmt, rest, err := d.conn.Prepare(tail)
		if err != nil {
			return true
		}
		if stmt != nil {
			stmt.Close()
			return true
		}
		tail = rest
	}
	return false
}

// collect reads rows until there are no more, or enough.
func collect(stmt *sqlite3.Stmt) (Output, error) {
	out := Output{Columns: columns(stmt), Rows: [][]any{}} // an empty result is [], not null
	size := 0
	for stmt.Step() {
		row, bytes := read(stmt)
		size += bytes
		if len(out.Rows) == maxRows || size > maxBytes {
			out.Truncated = true
			out.Hint = fmt.Sprintf("Only the first %d rows are shown. Narrow the query with WHERE, count or sum in "+
				"SQL, choose fewer columns, or read on with LIMIT and OFFSET.", len(out.Rows))
			return out, nil
		}
		out.Rows = append(out.Rows, row)
	}
	return out, stmt.Err()
}
