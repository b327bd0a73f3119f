// Command linger takes longer than a gateway with little patience waits, and ignores its deadline.
package main

import (
	"context"
	"time"

	"patchbay/shared/tool"
)

func linger(context.Context, struct{}) (string, error) {
	time.Sleep(20 * time.Second)
	return "at last", nil
}

func main() { tool.Serve(linger) }
