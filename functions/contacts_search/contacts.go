package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
	"unicode/utf8"

	"patchbay/shared/nearest"
)

// contactsCSV are the contacts by name; its columns are named in its first line.
//
//go:embed contacts.csv
var contactsCSV string

// contact is somebody whom the organization knows.
type contact struct {
	Name    string `json:"name"`
	Email   string `json:"email"`
	Company string `json:"company"`
	Role    string `json:"role"`
}

// loadContacts reads the embedded data. It panics where the data is broken, which stops the function when it starts.
func loadContacts() []contact {
	rows, err := csv.NewReader(strings.NewReader(contactsCSV)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("reading contacts.csv: %v", err))
	}
	contacts := make([]contact, 0, len(rows)-1)
	for _, row := range rows[1:] {
		contacts = append(contacts, contact{Name: row[0], Email: row[1], Company: row[2], Role: row[3]})
	}
	return contacts
}

// fitting returns the contacts that have every word of the query, letters' case aside; never nil.
func fitting(all []contact, query string) []contact {
	words := strings.Fields(strings.ToLower(query))
	found := []contact{}
	for _, c := range all {
		if c.hasAll(words) {
			found = append(found, c)
		}
	}
	return found
}

func (c contact) hasAll(words []string) bool {
	text := strings.ToLower(strings.Join([]string{c.Name, c.Email, c.Company, c.Role}, "\n"))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// nobody says that no contact fits, with the names that are spelled much like the query or a word of it.
func nobody(all []contact, query string) string {
	var near []string
	for _, c := range all {
		if resembles(c.Name, query) {
			near = append(near, c.Name)
		}
	}
	if len(near) == 0 {
		return "No contact fits all these words. Give fewer of them, or ask the user for the address."
	}
	const most = 5
	return "No contact fits all these words. Did you mean " + strings.Join(near[:min(len(near), most)], " or ") + "?"
}

// resembles reports whether the query is off from the name, or a word of it from a word of the name, by a letter in
// four.
func resembles(name, query string) bool {
	name, query = strings.ToLower(name), strings.ToLower(query)
	for _, own := range append(strings.Fields(name), name) {
		for _, word := range append(strings.Fields(query), query) {
			if nearest.Within(word, own, utf8.RuneCountInString(own)/4) {
				return true
			}
		}
	}
	return false
}
