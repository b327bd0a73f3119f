package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"patchbay/scripts/lint"
)

var (
	// toolName is what the protocol allows. Source: MCP 2026-07-28, server/tools#tool-names.
	toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	// folderName is the form of the contract's check folder-name.
	folderName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// reserved are names that a tool's folder cannot have, and why.
var reserved = map[string]string{
	"internal":   "the go command keeps folders of this name for code that functions share",
	"vendor":     "the go command keeps folders of this name for dependencies",
	"testdata":   "the go command passes over folders of this name",
	"dispatcher": "the server's own function has this name",
	"authorizer": "the server's own function has this name",
	"registrar":  "the server's own function has this name",
}

// FolderOf returns the name of the folder for a tool: emails_send for emails.send, find_order for findOrder. The error
// says which names are allowed.
func FolderOf(name string) (string, error) {
	if !toolName.MatchString(name) {
		return "", fmt.Errorf("tool name %q; allowed: 1 to 128 of A-Z a-z 0-9 _ - and dot, and of model APIs 1 to 64 "+
			"without the dot, such as find_order", name)
	}
	folder := strings.Join(lint.Words(name), "_")
	if !folderName.MatchString(folder) {
		return "", fmt.Errorf("tool name %q: its folder would be %q; allowed: a name with a letter first, such as "+
			"find_order", name, folder)
	}
	if why, taken := reserved[folder]; taken {
		return "", fmt.Errorf("tool name %q: its folder cannot be called %s, since %s; allowed: a name of a verb and what "+
			"it is done to, such as find_order", name, folder, why)
	}
	return folder, nil
}

// titleOf makes a name for people: "Find order" of find_order.
func titleOf(name string) string {
	text := strings.Join(lint.Words(name), " ")
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// scopeOf makes up an OAuth scope for a tool: "order:create" of create_order, "weather:use" of weather.
func scopeOf(name string, verb lint.NameVerb) string {
	words := lint.Words(name)
	at := slices.Index(words, verb.Word)
	if at < 0 || len(words) == 1 {
		return strings.Join(words, "_") + ":use"
	}
	return strings.Join(slices.Delete(words, at, at+1), "_") + ":" + verb.Word
}

// prefixOf makes the beginning of a namespace's handles.
func prefixOf(namespace string) string {
	letters := strings.NewReplacer("_", "", "-", "").Replace(namespace)
	return letters[:min(len(letters), 16)]
}
