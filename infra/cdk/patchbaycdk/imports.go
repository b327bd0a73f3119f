package patchbaycdk

// The control functions are built in the module that deploys them, by its go.mod and go.sum. They are main packages,
// which nothing can import; what they import themselves is imported here, so that those files know it.
import (
	_ "patchbay/dispatcher/authorizer/decide"
	_ "patchbay/dispatcher/function"
	_ "patchbay/dispatcher/registrar/resource"
	_ "patchbay/shared/registry"
	_ "patchbay/shared/seal"
)
