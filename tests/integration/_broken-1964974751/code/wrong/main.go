// Command wrong does not build.
package main

func main() { nonsense() }
