// Package contract reads tool.json, the file that says what a tool is and how calls of it are treated, and server.json,
// which says what the server is.
//
// A tool.json holds the tool as clients see it (MCP 2026-07-28, server/tools#tool) and, beside that, the contract:
// risk, permissions, idempotency, limits, the function behind it. Parse checks everything and reports every fault at
// once; LoadDir does so for a folder of tools; Decode reads back what Parse has accepted and the catalogue has stored.
// What each field means is in docs/tool-json.md; why each check exists is in Rules.
package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"patchbay/shared/mcp"
	"patchbay/shared/schema"
)

// Tool is one tool: what clients see of it, and its contract. It is not changed after Parse or Decode made it, and is
// safe for concurrent use; share it by pointer.
type Tool struct {
	// File is the name of its tool.json as problems show it; empty after Decode.
	File string
	// Folder is the path of the folder that LoadDir found it in; empty after Parse and Decode.
	Folder string

	Name        string
	Title       string
	Description string
	// Definition is the tool as tools/list serves it: tool.json without "contract" and without white space, with keys
	// in the author's order and every number and string as written.
	Definition json.RawMessage
	// Input and Output are the schemas of arguments and structured content; Output is nil when there is none.
	Input       json.RawMessage
	Output      json.RawMessage
	Annotations mcp.ToolAnnotations
	Contract    Contract
	// HeaderParams are the arguments that clients mirror into HTTP headers, in the schema's order.
	HeaderParams []HeaderParam

	input, output compiled

	digestOnce sync.Once
	digest     [sha256.Size]byte
}

// Digest identifies what was published of the tool, definition and contract: two tools with one digest are the same to
// clients and to the dispatcher.
func (t *Tool) Digest() [sha256.Size]byte {
	t.digestOnce.Do(func() {
		hash := sha256.New()
		contract, err := json.Marshal(t.Contract)
		if err != nil {
			panic("encoding a contract: " + err.Error())
		}
		fmt.Fprintf(hash, "%d:", len(t.Definition))
		hash.Write(t.Definition)
		hash.Write(contract)
		hash.Sum(t.digest[:0])
	})
	return t.digest
}

// compiled is a schema that is compiled when it is first needed, and once.
type compiled struct {
	once   sync.Once
	schema *schema.Schema
	err    error
}

// compile names the value as a whole in the schema's messages: the arguments or the result.
func (c *compiled) compile(raw json.RawMessage, subject string) (*schema.Schema, error) {
	c.once.Do(func() {
		if c.schema, c.err = schema.Compile(raw, schema.Limits{}); c.err == nil {
			c.schema = c.schema.For(subject)
		}
	})
	return c.schema, c.err
}

// InputSchema returns the compiled schema of the arguments. Its error is a *schema.CompileError, which a tool that
// Parse accepted does not have.
func (t *Tool) InputSchema() (*schema.Schema, error) { return t.input.compile(t.Input, "arguments") }

// OutputSchema returns the compiled schema of the structured content; nil without an error when the tool has none.
func (t *Tool) OutputSchema() (*schema.Schema, error) {
	if t.Output == nil {
		return nil, nil
	}
	return t.output.compile(t.Output, "result")
}

// Decode reads a tool from its stored form: the bytes of Tool.Definition, and Tool.Contract as json.Marshal writes it.
// Both were checked by Parse, so nothing is checked again; contract fields that a stored form of an earlier release
// lacks get their defaults. definitionJSON is kept, not copied.
func Decode(definitionJSON, contractJSON json.RawMessage) (*Tool, error) {
	var d stored
	if err := json.Unmarshal(definitionJSON, &d); err != nil {
		return nil, fmt.Errorf("decoding a stored tool definition: %w", err)
	}
	t := d.tool()
	t.Definition = definitionJSON
	t.Contract = defaults()
	if err := json.Unmarshal(contractJSON, &t.Contract); err != nil {
		return nil, fmt.Errorf("decoding the stored contract of %s: %w", t.Name, err)
	}
	t.HeaderParams = storedHeaderParams(t.Input)
	return t, nil
}

// definition is what tool.json holds.
type definition struct {
	stored
	Icons    []mcp.Icon      `json:"icons"`
	Meta     json.RawMessage `json:"_meta"`
	Contract authored        `json:"contract"`
}

// authored is a contract with what is said to its checkers alone, and not stored.
type authored struct {
	Contract
	Suppress []Suppression `json:"suppress"`
}

// stored is the part of a definition that calls need.
type stored struct {
	Name         string              `json:"name"`
	Title        string              `json:"title"`
	Description  string              `json:"description"`
	InputSchema  json.RawMessage     `json:"inputSchema"`
	OutputSchema json.RawMessage     `json:"outputSchema"`
	Annotations  mcp.ToolAnnotations `json:"annotations"`
}

func (s *stored) tool() *Tool {
	return &Tool{
		Name:        s.Name,
		Title:       s.Title,
		Description: s.Description,
		Input:       s.InputSchema,
		Output:      s.OutputSchema,
		Annotations: s.Annotations,
	}
}

// storedHeaderParams reads the annotations of a schema that was checked before. Few tools have any, so the schema is
// only taken apart when its bytes can hold one: plainly, or behind an escape.
func storedHeaderParams(input json.RawMessage) []HeaderParam {
	if !bytes.Contains(input, []byte(headerAnnotation)) && !bytes.Contains(input, []byte(`\u`)) {
		return nil
	}
	params, _ := headerParams(parseTree(input))
	return params
}
