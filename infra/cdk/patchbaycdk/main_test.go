package patchbaycdk

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"patchbay/scripts/nodemodules"
)

// All tests of this package use one Node process, which jsii starts with the first construct: the one that package.json
// pins where it is installed, since the machine's own may be older than the CDK supports.
func TestMain(m *testing.M) {
	if modules, err := nodemodules.Find("."); err == nil {
		node := filepath.Dir(nodemodules.Node(modules))
		os.Setenv("PATH", node+string(os.PathListSeparator)+os.Getenv("PATH"))
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
