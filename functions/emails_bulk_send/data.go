package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
)

// templatesJSON are the messages that can be sent; {{name}} in their texts stands for the recipient's name.
//
//go:embed templates.json
var templatesJSON []byte

// recipientsCSV are the members of the segments; its columns are named in its first line.
//
//go:embed recipients.csv
var recipientsCSV string

// template is a message to many.
type template struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// member is somebody in a segment.
type member struct {
	email, name string
	subscribed  bool
}

// data are the templates and segments by id.
type data struct {
	templates map[string]template
	segments  map[string][]member
}

// loadData reads the embedded files. It panics where they are broken, which stops the function when it starts.
func loadData() data {
	d := data{templates: map[string]template{}, segments: map[string][]member{}}
	var templates []template
	decoder := json.NewDecoder(bytes.NewReader(templatesJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&templates); err != nil {
		panic(fmt.Sprintf("reading templates.json: %v", err))
	}
	for _, t := range templates {
		d.templates[t.ID] = t
	}
	rows, err := csv.NewReader(strings.NewReader(recipientsCSV)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("reading recipients.csv: %v", err))
	}
	for _, row := range rows[1:] {
		segment, m := row[0], member{email: row[1], name: row[2], subscribed: row[3] == "yes"}
		d.segments[segment] = append(d.segments[segment], m)
	}
	return d
}
