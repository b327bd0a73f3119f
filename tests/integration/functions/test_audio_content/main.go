// Command test_audio_content is the conformance suite's tool with a sound.
package main

import (
	"context"
	_ "embed"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

//go:embed silence.wav
var silence []byte

func answer(context.Context, struct{}) (tool.Result, error) {
	return tool.Result{Content: []mcp.Content{tool.Audio(silence, "audio/wav")}}, nil
}

func main() { tool.Serve(answer) }
