package contract

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"patchbay/shared/mcp"
)

// MinDescription is how many characters a description needs to say what a tool does and when to use it.
const MinDescription = 20

const (
	nameForm  = "1 to 128 of A-Z a-z 0-9 _ - ."
	modelForm = "1 to 64 of A-Z a-z 0-9 _ -"
)

var (
	iconSize = lazily(`^(any|[1-9][0-9]*x[1-9][0-9]*)$`)
	// A prefix is labels separated by dots, each beginning with a letter and ending with a letter or a digit, with
	// hyphens inside; a name may be empty behind one. Source: basic/index#meta.
	metaPrefix = lazily(`^[a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$`)
	metaName   = lazily(`^([a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?)?$`)
)

func (c *checker) checkDefinition(d *definition) {
	c.checkName(d.Name)
	c.checkDescription(d.Description)
	c.checkIcons(d.Icons, "/icons")
	c.checkMeta(c.root.at("_meta"))
}

func (c *checker) checkName(name string) {
	c.require("name", nameForm)
	switch {
	case !c.has("name"):
	case !isToolName(name, 128, "_-."):
		c.report("name-charset", "/name", nameForm, "%q is no tool name", name)
	case !isToolName(name, 64, "_-"):
		c.report("name-model-api", "/name", modelForm, "model APIs do not take the name %q as it is", name)
	}
}

// isToolName reports whether name has 1 to longest letters, digits and characters of extra.
func isToolName(name string, longest int, extra string) bool {
	for i := range len(name) {
		if !isAlphanumeric(name[i]) && strings.IndexByte(extra, name[i]) < 0 {
			return false
		}
	}
	return 1 <= len(name) && len(name) <= longest
}

func (c *checker) checkDescription(description string) {
	const allowed = "what the tool does, when to use it and what it returns"
	text := strings.TrimSpace(description)
	switch length := utf8.RuneCountInString(text); {
	case length == 0:
		c.report("description-missing", "/description", allowed, "the tool has no description")
	case length < MinDescription:
		c.report("description-short", "/description", allowed, "%d characters are too few for a model to choose by", length)
	}
}

func (c *checker) checkIcons(icons []mcp.Icon, pointer string) {
	for i, icon := range icons {
		at := item(pointer, i)
		if !isIconSource(icon.Src) {
			c.report("icon-source", at+"/src", "an https: URL or a data: URI", "%q is no source of an icon", icon.Src)
		}
		for j, size := range icon.Sizes {
			if !iconSize.match(size) {
				c.report("icon-size", item(at+"/sizes", j), `"any", or a size like "48x48"`, "%q is no size", size)
			}
		}
		if icon.Theme != "" && icon.Theme != "light" && icon.Theme != "dark" {
			c.report("icon-theme", at+"/theme", `"light", "dark"`, "%q is no theme", icon.Theme)
		}
	}
}

func isIconSource(src string) bool {
	u, err := url.Parse(src)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Host != ""
	case "data":
		return strings.Contains(u.Opaque, ",")
	}
	return false
}

// checkMeta holds the keys of _meta to the protocol's form. Source: basic/index#meta.
func (c *checker) checkMeta(meta *node) {
	if meta == nil {
		return
	}
	if meta.kind() != kindObject {
		c.wrongType(meta, "/_meta", string(kindObject))
		return
	}
	for _, m := range meta.members {
		c.checkMetaKey(m.key, child("/_meta", m.key))
	}
}

func (c *checker) checkMetaKey(key, pointer string) {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	switch {
	case prefixed && !metaPrefix.match(prefix) || !metaName.match(name):
		c.report("meta-key", pointer, `a name like "region", or one with a prefix like "com.example/region"`,
			"%q is no key of _meta", key)
	case isReservedMeta(prefix, name):
		c.report("meta-reserved", pointer, `a prefix of your own, like "com.example/"`, "the key %q is reserved", key)
	}
}

// isReservedMeta reports whether a key is the protocol's (second label modelcontextprotocol or mcp, and the names that
// requests carry) or Patchbay's own.
func isReservedMeta(prefix, name string) bool {
	if prefix == "" {
		return slices.Contains([]string{"", mcp.MetaProgressToken, mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage},
			name)
	}
	labels := strings.Split(strings.ToLower(prefix), ".")
	if len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp") {
		return true
	}
	return strings.EqualFold(prefix, "dev.patchbay")
}
