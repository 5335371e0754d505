package levels

import (
	"fmt"
	"testing"
)

// Each runs f for every level from 0, the portable kernels, to the one that *active holds, which is the best of this machine,
// with *active set to it. Under the race detector, which sees no access of assembly, it is the portable kernels only.
func Each[L interface {
	~uint8
	fmt.Stringer
}](t *testing.T, active *L, f func(t *testing.T)) {
	best := *active
	t.Cleanup(func() { *active = best })
	most := best
	if Race {
		most = 0
	}
	for l := L(0); l <= most; l++ {
		t.Run(l.String(), func(t *testing.T) {
			*active = l
			f(t)
		})
	}
	*active = best
}
