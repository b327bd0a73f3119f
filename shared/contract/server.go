package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"patchbay/shared/mcp"
)

// Server is what server.json says: how the server presents itself to clients. Source: MCP 2026-07-28, server/discover.
type Server struct {
	mcp.Implementation
	// Instructions tell a model how to use the server's tools together; empty for none.
	Instructions string `json:"instructions,omitempty"`
}

// ServerLimits are settings of the whole server that every tool must fit. The zero value limits nothing.
type ServerLimits struct {
	// MaxCallSeconds is how long the gateway waits for a call.
	MaxCallSeconds int
}

// authoredServer is a server.json, with what is said to its checkers alone.
type authoredServer struct {
	Server
	Suppress []Suppression `json:"suppress"`
}

// ParseServer reads a server.json and checks all of it. The problems are without those that the file suppresses; the
// server is nil exactly when there are errors.
func ParseServer(file string, data []byte) (*Server, Problems) {
	d := readServer(file, data)
	problems := d.unsuppressed()
	if problems.Err() != nil {
		return nil, problems
	}
	return d.server, problems
}

// readServer reads a server.json as far as it can be read.
func readServer(file string, data []byte) *document {
	c := newChecker(file, data)
	if c.root == nil {
		return c.document()
	}
	c.checkShape(c.root, reflect.TypeFor[authoredServer](), "")
	s := &authoredServer{}
	if err := json.Unmarshal(data, s); err != nil && c.problems.Err() == nil {
		c.report("wrong-type", "", "", "decoding the file: %v", err)
	}
	c.checkServer(&s.Server)
	c.checkSuppressions(s.Suppress, "/suppress")
	read := c.document()
	read.server, read.suppress = &s.Server, s.Suppress
	return read
}

func (c *checker) checkServer(s *Server) {
	for _, field := range []struct{ key, value string }{{"name", s.Name}, {"version", s.Version}} {
		c.require(field.key, "a text")
		if c.has(field.key) && strings.TrimSpace(field.value) == "" {
			c.report("server-empty", child("", field.key), "a text", "the server's %s is empty", field.key)
		}
	}
	c.checkIcons(s.Icons, "/icons")
	if u, err := url.Parse(s.WebsiteURL); c.has("websiteUrl") && (err != nil || u.Scheme != "https" || u.Host == "") {
		c.report("website-url", "/websiteUrl", "an https: URL", "%q is no address of a website", s.WebsiteURL)
	}
}

// CheckTools reports what is wrong among tools that are each right: names that two of them have, and timeouts that the
// server's limits cut short.
func CheckTools(tools []*Tool, limits ServerLimits) Problems {
	var problems Problems
	first := map[string]*Tool{}
	for _, t := range tools {
		if other := first[t.Name]; other != nil && t.Name != "" {
			twice := problem(t.File, "duplicate-tool", "/name", "a name of its own",
				"the name "+t.Name+" is that of "+other.File+" too")
			twice.Related = other.File
			problems = append(problems, twice)
		} else {
			first[t.Name] = t
		}
		problems = append(problems, checkTimeout(t, limits)...)
	}
	return problems.sorted()
}

func checkTimeout(t *Tool, limits ServerLimits) Problems {
	seconds := t.Contract.Execution.TimeoutSeconds
	if limits.MaxCallSeconds <= 0 || seconds <= limits.MaxCallSeconds {
		return nil
	}
	return Problems{problem(t.File, "timeout-server", "/contract/execution/timeoutSeconds",
		fmt.Sprintf("at most %d, or a larger maxCallSeconds of the server", limits.MaxCallSeconds),
		fmt.Sprintf("the server ends a call after %d seconds, this tool after %d", limits.MaxCallSeconds, seconds))}
}
