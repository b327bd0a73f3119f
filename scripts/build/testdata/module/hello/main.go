// Command hello prints one word.
package main

import "fmt"

func main() { fmt.Println("hello") }
