package pipeline

import (
	"testing"

	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Whether devices copy straight from each other changes no bit where all rows are fresh, and with old ones where none has a global slot: which rows get one depends on it
// (docs/determinism.md).
func TestPeerCopiesChangeNoBit(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.SAGE)
	part := make([]int32, p.Vertices())
	for v := range part {
		part[v] = int32(v % 3)
	}
	for _, o := range []halo.Options{
		{Policy: jaca.JACA},
		{Policy: jaca.JACA, Staleness: 3, Global: jaca.Rows(0)},
	} {
		weights := func(noPeer bool) string {
			tr := newTrainer(t, p, m, cpus(t, 3), part, func(x *Options) {
				x.Epochs, x.Cache = 9, o
				x.Cache.NoPeer = noPeer
			})
			defer tr.Close()
			return run(t, tr).WeightsSHA
		}
		if weights(false) != weights(true) {
			t.Errorf("staleness %d: other weights through the host", o.Staleness)
		}
	}
}
