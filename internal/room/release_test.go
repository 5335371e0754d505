package room

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// A large heap is given back at once, a small one is not even collected.
func TestRelease(t *testing.T) {
	debug.FreeOSMemory() // what other tests have left
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	before := collections()
	Release()
	if n := collections() - before; n != 0 {
		t.Errorf("a small heap is collected %d times", n)
	}
	large := make([]byte, 2*small)
	for i := 0; i < len(large); i += 4096 {
		large[i] = 1
	}
	runtime.KeepAlive(large)
	Release()
	if n := collections() - before; n != 1 {
		t.Errorf("a large heap is collected %d times, want once", n)
	}
}
