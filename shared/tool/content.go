package tool

import (
	"fmt"

	"patchbay/shared/mcp"
)

// Text is a block of text.
func Text(text string) mcp.Content {
	return mcp.Content{Type: "text", Text: text}
}

// Textf is a block of formatted text.
func Textf(format string, args ...any) mcp.Content {
	return Text(fmt.Sprintf(format, args...))
}

// Image is an image; data is the file itself, not Base64.
func Image(data []byte, mimeType string) mcp.Content {
	return mcp.Content{Type: "image", Data: data, MIMEType: mimeType}
}

// Audio is a sound; data is the file itself, not Base64.
func Audio(data []byte, mimeType string) mcp.Content {
	return mcp.Content{Type: "audio", Data: data, MIMEType: mimeType}
}

// ResourceLink names something that the client can fetch itself. Title, Description, MIMEType, Size and Icons of the
// block may be set as well.
func ResourceLink(uri, name string) mcp.Content {
	return mcp.Content{Type: "resource_link", URI: uri, Name: name}
}

// Embed carries a resource in the result. Set Text or Blob of it, not both.
func Embed(resource mcp.ResourceContents) mcp.Content {
	return mcp.Content{Type: "resource", Resource: &resource}
}

// Annotate returns the block with annotations: for whom it is and how much it matters.
func Annotate(block mcp.Content, annotations mcp.Annotations) mcp.Content {
	block.Annotations = &annotations
	return block
}
