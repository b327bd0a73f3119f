package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
)

// filesCSV lists the files that can be downloaded; its columns are named in its first line.
//
//go:embed files.csv
var filesCSV string

// loadFiles returns the names of the files by id. It panics where the data is broken, which stops the function when it
// starts.
func loadFiles() map[string]string {
	rows, err := csv.NewReader(strings.NewReader(filesCSV)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("reading files.csv: %v", err))
	}
	files := map[string]string{}
	for _, row := range rows[1:] {
		files[row[0]] = row[1]
	}
	return files
}
