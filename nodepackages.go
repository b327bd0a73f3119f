// Package patchbay carries the files of the repository's root folder that its programs need where that folder is not at
// hand, or may not be written to: in a module that only requires this one.
package patchbay

import "embed"

// NodePackages are the package.json and package-lock.json that pin the Node packages of the local stack.
//
//go:embed package.json package-lock.json
var NodePackages embed.FS
