// Command greet prints where it runs from.
package main

import (
	"fmt"
	"runtime"
)

func main() { fmt.Println(runtime.GOOS, runtime.GOARCH) }
