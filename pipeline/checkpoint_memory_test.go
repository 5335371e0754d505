package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"capgnn/internal/named"
	"capgnn/jaca"
)

// A checkpoint takes a few pieces of memory, however large the caches are whose rows it holds: when it is written and when it is
// read.
func TestCheckpointTakesNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes more")
	}
	const parts, epochs, bound = 3, 2, 3 << 20
	p, m := task{share: 0.2, vertices: 1500}.make(t, named.GCN)
	m.Hidden = 512
	for _, c := range []staleCase{
		{policy: jaca.JACA, local: "auto", global: "auto", staleness: 4, pipeline: true},
		{policy: jaca.JACA, local: "0", global: "auto", staleness: 4},
		{policy: jaca.None, local: "auto", global: "auto", staleness: 1, pipeline: true},
	} {
		t.Run(c.String(), func(t *testing.T) {
			dir := t.TempDir()
			make := func() *Trainer {
				return newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache, o.CheckpointDir = epochs, c.cache(t), dir
				})
			}
			tr := make()
			if _, err := tr.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			wrote := allocated(t, tr.Checkpoint)
			if wrote > bound {
				t.Errorf("writing a checkpoint allocates %d bytes, more than %d", wrote, bound)
			}
			size := int64(0)
			files, err := filepath.Glob(filepath.Join(dir, "*.ckpt"))
			if err != nil || len(files) == 0 { // where an epoch takes long, there is one of each
				t.Fatal(files, err)
			}
			if info, err := os.Stat(slices.Max(files)); err == nil {
				size = info.Size()
			}
			if size < 3*bound {
				t.Errorf("the checkpoint has %d bytes: too few to tell", size)
			}
			again := make()
			n := allocated(t, again.Restore)
			if best := uint64(4 * len(again.Weights.Flat)); n > bound+best { // which a run keeps on the host
				t.Errorf("reading a checkpoint allocates %d bytes, more than %d", n, bound)
			}
			if again.State.Epochs != epochs {
				t.Errorf("%d epochs were restored", again.State.Epochs)
			}
			t.Logf("checkpoint of %d bytes: %d allocated to write it, %d to read it", size, wrote, n)
		})
	}
}

// allocated returns how many bytes f takes from the heap, given back or not.
func allocated(t *testing.T, f func() error) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return after.TotalAlloc - before.TotalAlloc
}
