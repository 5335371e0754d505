//go:build race

package levels

// Race says that the race detector is on.
const Race = true
