//go:build race

package hostmem

// raceEnabled reports whether the race detector watches.
const raceEnabled = true
