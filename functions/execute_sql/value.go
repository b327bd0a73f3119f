package main

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"
)

func columns(stmt *sqlite3.Stmt) []string {
	names := make([]string, stmt.ColumnCount())
	for i := range names {
		names[i] = stmt.ColumnName(i)
	}
	return names
}

// read returns the current row as values that JSON has, and about how many bytes they take in the answer.
func read(stmt *sqlite3.Stmt) (row []any, size int) {
	row = make([]any, stmt.ColumnCount())
	for i := range row {
		row[i] = value(stmt, i)
		size += 8
		if text, ok := row[i].(string); ok {
			size += len(text)
		}
	}
	return row, size
}

// value returns a BLOB as hexadecimal digits, and an infinity, which JSON lacks, as text.
func value(stmt *sqlite3.Stmt, column int) any {
	switch stmt.ColumnType(column) {
	case sqlite3.INTEGER:
		return stmt.ColumnInt64(column)
	case sqlite3.FLOAT:
		if number := stmt.ColumnFloat(column); !math.IsInf(number, 0) {
			return number
		}
		return fmt.Sprint(stmt.ColumnFloat(column))
	case sqlite3.TEXT:
		return stmt.ColumnText(column)
	case sqlite3.BLOB:
		return hex.EncodeToString(stmt.ColumnRawBlob(column))
	}
	return nil
}
