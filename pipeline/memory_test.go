package pipeline

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"capgnn/hostmem"
)

const (
	mostMemory = 2 << 30   // bytes that all tests may take at their peak: what a laptop has to spare
	heapFrom   = 768 << 20 // bytes of heap from which the collector works more, to keep to it
)

// TestMain lets the heap grow before it is collected: tests make and drop thousands of small trainers, and the collector took a
// quarter of their time. It fails where they take more memory than a laptop has; not in short, nor with the race detector, which takes
// several times as much, nor where something is measured or searched for.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	flag.Parse()
	if testing.Short() || races() || given("test.bench") || given("test.fuzz") {
		os.Exit(m.Run())
	}
	debug.SetMemoryLimit(heapFrom)
	code := m.Run()
	if peak, err := hostmem.PeakRSS(); code == 0 && err == nil && peak > mostMemory {
		fmt.Printf("the tests of this package took %d MiB of memory, %d are allowed: close what a case has opened before the next opens its own\n",
			peak>>20, mostMemory>>20)
		code = 1
	}
	os.Exit(code)
}

// races says that the race detector is there.
func races() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// given says that a flag of the test binary is not empty.
func given(name string) bool { return flag.Lookup(name).Value.String() != "" }

// closeAfter closes what a test has opened when the test ends, and forgets it: package testing keeps functions of Cleanup that it
// has called, and all that they hold, until the last parallel test has ended.
func closeAfter[T io.Closer](t testing.TB, c T) {
	t.Cleanup(func() {
		c.Close()
		var none T
		c = none
	})
}
