package room

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"

	"capgnn/hostmem"
)

const (
	// free bytes are granted without asking: any machine that runs this program has them.
	free = 16 << 20
	// beside is what the runtime takes with a large block: it maps memory in pieces of 64 MiB and keeps tables of them.
	beside = 96 << 20
	// small is what the runtime may hold before it pays to collect it at once.
	small = 32 << 20
)

// Short is memory that is not to be had.
type Short struct {
	Bytes int64 // that were wanted
}

func (e *Short) Error() string {
	return fmt.Sprintf("needs %.1f MiB of memory at once, which the system does not give", float64(e.Bytes)/(1<<20))
}

// For returns a *Short if the system would not give n bytes more.
func For(n int64) error {
	if n < free || gives(n, hostmem.Free) {
		return nil
	}
	debug.FreeOSMemory() // what is in use no longer counts as taken
	if gives(n, hostmem.Free) {
		return nil
	}
	return &Short{n}
}

// gives reports whether the address space has room for n bytes more, and memory by left, as far as it says.
func gives(n int64, left func() (free, total int64, err error)) bool {
	if !probe(n + n/32 + beside) {
		return false
	}
	room, _, err := left()
	return err != nil || n+n/32 <= room
}

// Release gives back to the system what is no longer in use. Of a small heap it is little, and collecting one takes
// milliseconds.
func Release() {
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(held)
	if held[0].Value.Uint64()-held[1].Value.Uint64() > small {
		debug.FreeOSMemory()
	}
}
