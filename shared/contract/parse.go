package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Parse reads a tool.json and checks all of it. file names it in the problems. The problems are sorted, warnings among
// the errors, without those that the contract suppresses; the tool is nil exactly when there are errors.
func Parse(file string, data []byte) (*Tool, Problems) {
	d := readTool(file, data)
	problems := d.unsuppressed()
	if problems.Err() != nil {
		return nil, problems
	}
	return d.tool, problems
}

// readTool reads a tool.json as far as it can be read.
func readTool(file string, data []byte) *document {
	c := newChecker(file, data)
	if c.root == nil {
		return c.document()
	}
	d := c.readDefinition()
	t := d.tool()
	t.File = file
	t.Contract = d.Contract.Contract
	t.Definition = c.servedDefinition()
	c.checkDefinition(d)
	c.checkSchemas(t)
	c.checkContract(t)
	c.checkAnnotations(t)
	c.checkSuppressions(d.Contract.Suppress, "/contract/suppress")
	read := c.document()
	read.tool, read.suppress = t, d.Contract.Suppress
	return read
}

// readDefinition checks the form of the file and decodes what has the right form; the rest keeps its default, so that
// the checks that follow see something reasonable.
func (c *checker) readDefinition() *definition {
	c.checkShape(c.root, reflect.TypeFor[definition](), "")
	d := &definition{Contract: authored{Contract: defaults()}}
	if err := json.Unmarshal(c.data, d); err != nil && c.problems.Err() == nil {
		c.report("wrong-type", "", "", "decoding the file: %v", err)
	}
	d.Contract.complete(d.Name, func(keys ...string) bool { return c.root.at("contract").at(keys...) != nil })
	return d
}

// servedDefinition is the file without its contract and without white space.
func (c *checker) servedDefinition() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range c.root.members {
		if m.key == "contract" {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(m.rawKey)
		b.WriteByte(':')
		// The bytes are part of a file that was found to be valid, so compacting them cannot fail.
		_ = json.Compact(&b, m.value.raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}
