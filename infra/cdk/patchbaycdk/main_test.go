package patchbaycdk

import (
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"patchbay/scripts/nodemodules"
)

// nodeVariable names the Node that jsii starts.
const nodeVariable = "JSII_NODE"

// All tests of this package use one Node process, which jsii starts with the first construct: the one that
// package.json pins where it is installed, since the machine's own may be older than the CDK supports. jsii reads the
// variable before any code of this package runs, so it is set for the same program started once more.
func TestMain(m *testing.M) {
	modules, err := nodemodules.Find(".")
	if err == nil && os.Getenv(nodeVariable) == "" {
		environment := append(os.Environ(), nodeVariable+"="+nodemodules.Node(modules))
		// It returns only when it fails; the tests run on the machine's own Node then.
		_ = syscall.Exec(os.Args[0], os.Args, environment)
	}
	code := m.Run()
	jsii.Close()
	for _, dir := range temporary {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// constructing is held while constructs are made: jsii's client sends one request at a time, and does not wait by
// itself.
var constructing sync.Mutex
