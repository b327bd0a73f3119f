// Command misbehave fails in every way a function can. It stands directly on aws-lambda-go, since shared/tool would not
// let it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/shared/invoke"
)

// secret stands for what must never reach a client.
const secret = "sekrit-internal-detail"

const megabyte = 1 << 20

func misbehave(request invoke.Request) (io.Reader, error) {
	var in struct {
		Mode string `json:"mode"`
	}
	if err := json.Unmarshal(request.Arguments, &in); err != nil {
		return nil, fmt.Errorf("decoding arguments: %w", err)
	}
	switch in.Mode {
	case "exit":
		os.Exit(3)
	case "panic":
		panic(secret)
	case "error":
		return nil, errors.New(secret)
	case "timeout":
		time.Sleep(time.Minute)
	case "memory":
		hoard()
	case "not_json":
		return strings.NewReader("certainly not JSON"), nil
	case "not_result":
		return strings.NewReader(`["a", "list"]`), nil
	case "too_large":
		return strings.NewReader(text(strings.Repeat("x", 7*megabyte))), nil
	case "unknown_content":
		return strings.NewReader(`{"content":[{"type":"hologram","beams":9007199254740993}],"invented":[1.50,null]}`), nil
	}
	return strings.NewReader(text("well behaved")), nil
}

func text(s string) string { return `{"content":[{"type":"text","text":"` + s + `"}]}` }

// hoard uses more memory than the function has, and stays there until it is stopped.
func hoard() {
	var kept [][]byte
	for len(kept) < 512 {
		block := make([]byte, megabyte)
		for i := range block {
			block[i] = byte(len(kept))
		}
		kept = append(kept, block)
	}
	time.Sleep(time.Minute)
	fmt.Fprintln(os.Stderr, len(kept))
}

func main() { lambda.Start(misbehave) }
