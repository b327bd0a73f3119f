package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Parse reads a tool.json and checks all of it. file names it in the problems. The problems are sorted, warnings among
// the errors; the tool is nil exactly when there are errors.
func Parse(file string, data []byte) (*Tool, Problems) {
	c := newChecker(file)
	if c.root = c.readTree(data); c.root == nil {
		return nil, c.problems
	}
	d := c.readDefinition(data)
	t := d.tool()
	t.File = file
	t.Contract = d.Contract
	t.Definition = c.servedDefinition()
	c.checkDefinition(d)
	c.checkSchemas(t)
	c.checkContract(t)
	c.checkAnnotations(t)
	problems := c.problems.sorted()
	if problems.Err() != nil {
		return nil, problems
	}
	return t, problems
}

// readDefinition checks the form of the file and decodes what has the right form; the rest keeps its default, so that
// the checks that follow see something reasonable.
func (c *checker) readDefinition(data []byte) *definition {
	c.checkShape(c.root, reflect.TypeFor[definition](), "")
	d := &definition{Contract: defaults()}
	if err := json.Unmarshal(data, d); err != nil && c.problems.Err() == nil {
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
