package host

import "testing"

// TestAttentionAllocates counts what an operation allocates once the workspace has grown: arguments, not data.
func TestAttentionAllocates(t *testing.T) {
	f := newFixture(t, 2)
	for _, op := range f.attentionOps(f.graph(600, 40), f.graph(600, 40), 4, 16)[1:] {
		n := testing.AllocsPerRun(20, func() {
			op.run(f.q)
			f.sync()
		})
		if n > 24 {
			t.Errorf("%s allocates %g times", op.name, n)
		}
	}
}
