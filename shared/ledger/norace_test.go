//go:build !race

package ledger

// raceDetector says that tests run several times slower.
const raceDetector = false
