//go:build !race

package host

// underRace says that the race detector is on.
const underRace = false
