package patchbaycdk

import (
	"os"
	"testing"

	"github.com/aws/jsii-runtime-go"
)

// All tests of this package use one Node process, which jsii starts with the first construct.
func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}
