// Package version says which release of Patchbay this is.
package version

// Version is the release, or the one to come, as a semantic version. CHANGELOG.md says what is in it; a release that
// writes what the one before it cannot read has a new minor version before 1.0, and a new major version from then on.
const Version = "0.1.0"
