package mcp

import (
	"bytes"
	"encoding/json"
)

// Implementation names a client or server. Source: schema 2026-07-28, Implementation.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// Icon is an image for display. Source: schema 2026-07-28, Icon.
type Icon struct {
	// Src is an https: or data: URI; clients must reject any other scheme.
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"`
	// Theme is "light" or "dark"; empty for either.
	Theme string `json:"theme,omitempty"`
}

// ToolAnnotations are hints for clients. A nil hint takes the protocol's default: readOnly false, destructive true,
// idempotent false, openWorld true. Source: schema 2026-07-28, ToolAnnotations.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
}

// Content is one block of a tool's unstructured result. Type decides which other fields are used: "text" (Text),
// "image" and "audio" (Data, MIMEType), "resource_link" (URI, Name and what describes it), "resource" (Resource).
// Source: schema 2026-07-28, ContentBlock.
type Content struct {
	Type string `json:"type"`
	// Text is the text of a "text" block. It is always written for that type, even when empty.
	Text string `json:"text,omitempty"`
	// Data is encoded as Base64 on the wire.
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`

	URI         string `json:"uri,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Size is the resource's size in bytes, if known.
	Size  *int64 `json:"size,omitempty"`
	Icons []Icon `json:"icons,omitempty"`

	Resource *ResourceContents `json:"resource,omitempty"`

	Annotations *Annotations    `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
}

// MarshalJSON writes an empty text or data where the block's type demands the member. It leaves <, > and & as they are,
// since whether they are escaped is for the encoder around it to say: json.Marshal escapes them.
func (c Content) MarshalJSON() ([]byte, error) {
	type plain Content
	switch c.Type {
	case "text":
		return marshal(struct {
			plain
			Text string `json:"text"`
		}{plain(c), c.Text})
	case "image", "audio":
		data := c.Data
		if data == nil {
			data = []byte{}
		}
		return marshal(struct {
			plain
			Data []byte `json:"data"`
		}{plain(c), data})
	}
	return marshal(plain(c))
}

// marshal is json.Marshal without its escapes for HTML.
func marshal(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// ResourceContents is the body of an embedded resource: Text or Blob. Source: schema 2026-07-28, ResourceContents.
type ResourceContents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	// Blob is encoded as Base64 on the wire.
	Blob []byte          `json:"blob,omitempty"`
	Meta json.RawMessage `json:"_meta,omitempty"`
}

// Annotations say for whom content is and how much it matters. Source: schema 2026-07-28, Annotations.
type Annotations struct {
	// Audience holds "user", "assistant" or both.
	Audience []string `json:"audience,omitempty"`
	// Priority is from 0 (optional) to 1 (required).
	Priority *float64 `json:"priority,omitempty"`
	// LastModified is an RFC 3339 time.
	LastModified string `json:"lastModified,omitempty"`
}

// CallToolResult is what a tool answers. Source: schema 2026-07-28, CallToolResult.
type CallToolResult struct {
	Content           []Content                  `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent,omitempty"`
	IsError           bool                       `json:"isError,omitempty"`
	Meta              map[string]json.RawMessage `json:"_meta,omitempty"`
}

// InputRequiredResult asks the client for more before the call can complete. Source: basic/patterns/mrtr.
type InputRequiredResult struct {
	// ResultType is always ResultInputRequired.
	ResultType string `json:"resultType"`
	// InputRequests maps keys of the tool's choice to elicitation/create, sampling/createMessage or roots/list requests.
	InputRequests map[string]InputRequest `json:"inputRequests,omitempty"`
	// RequestState comes back with the client's retry; the dispatcher seals it on its way out.
	RequestState string `json:"requestState,omitempty"`
}

// InputRequest is one request to the client inside an InputRequiredResult.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Values of resultType. Source: schema 2026-07-28, ResultType.
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
)
