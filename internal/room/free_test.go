package room

import (
	"errors"
	"testing"
)

// What the system says is free is a limit, whatever the address space has room for.
func TestFree(t *testing.T) {
	const n = 64 << 20
	for _, c := range []struct {
		free int64
		err  error
		want bool
	}{{n + n/32, nil, true}, {n + n/32 - 1, nil, false}, {0, nil, false}, {0, errors.ErrUnsupported, true}} {
		left := func() (int64, int64, error) { return c.free, c.free, c.err }
		if got := gives(n, left); got != c.want {
			t.Errorf("%d bytes of %d (%v): %v, want %v", n, c.free, c.err, got, c.want)
		}
	}
}
