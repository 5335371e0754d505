package layered

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow to four times what is live: it is little here, and collecting it took nearly half of the time of drawn runs.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
