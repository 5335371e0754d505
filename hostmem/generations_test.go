package hostmem

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cached is a block with the schedule of its refresh class: due in epochs t ≡ class (mod period), and in the first.
type cached struct {
	*Versioned
	owner, class, period int
}

func (c cached) due(epoch int) bool { return epoch == 0 || epoch%c.period == c.class }

// latest returns the last epoch ≤ t in which the block was due.
func (c cached) latest(t int) int {
	for !c.due(t) {
		t--
	}
	return t
}

// cache returns a region with blocks of every size and period for each worker.
func cache(t *testing.T, rng *rand.Rand, workers int, o LockOptions) []cached {
	t.Helper()
	r, err := NewRegion("global cache", 1<<20, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	var out []cached
	for w := range workers {
		for k := range 4 {
			b, err := r.Block(fmt.Sprintf("part %d class %d", w, k), 4*int64(1+rng.IntN(500)))
			if err != nil {
				t.Fatal(err)
			}
			period := 1 + rng.IntN(4)
			out = append(out, cached{b, w, rng.IntN(period), period})
		}
	}
	return out
}

// readAt reads the rows of an epoch as a worker does and says what was wrong with them.
func readAt(b *Versioned, epoch int) error {
	r, err := b.Read(epoch)
	if err != nil {
		return err
	}
	i := differs(Of[float32](r.Rows()), epoch)
	if err := r.Check(); err != nil {
		return err
	}
	if i >= 0 {
		return fmt.Errorf("block %q, epoch %d: element %d is of another epoch, and the check let it pass", b.name, epoch, i)
	}
	return nil
}

// Generations never mix: workers write their blocks and read all others at once, a barrier ends each epoch. With pipeline
// a reader takes the refresh before this epoch; without, it takes this epoch's own, and knows that it is there by the
// stamp alone, so the race detector judges the publication itself.
func TestGenerationsNeverMix(t *testing.T) {
	const workers, epochs = 3, 60
	for seed := range uint64(6) {
		for _, pipelined := range []bool{true, false} {
			blocks := cache(t, rand.New(rand.NewPCG(seed, 1)), workers, LockOptions{Heap: true})
			var reads atomic.Int64
			for epoch := range epochs {
				var barrier sync.WaitGroup
				for w := range workers {
					barrier.Go(func() { writeDue(t, blocks, w, epoch) })
					barrier.Go(func() { readOthers(t, blocks, w, epoch, pipelined, &reads) })
				}
				barrier.Wait()
			}
			if reads.Load() < epochs {
				t.Errorf("seed %d: %d reads only", seed, reads.Load())
			}
		}
	}
}

func writeDue(t *testing.T, blocks []cached, w, epoch int) {
	for _, b := range blocks {
		if b.owner == w && b.due(epoch) {
			refresh(t, b.Versioned, epoch)
		}
	}
}

func readOthers(t *testing.T, blocks []cached, w, epoch int, pipelined bool, reads *atomic.Int64) {
	for _, b := range blocks {
		last := epoch
		if pipelined {
			last--
		}
		if b.owner == w || last < 0 {
			continue
		}
		want := b.latest(last)
		deadline := time.Now().Add(20 * time.Second)
		err := readAt(b.Versioned, want)
		var fault *VersionFault
		for want == epoch && errors.As(err, &fault) && !fault.Torn && time.Now().Before(deadline) {
			runtime.Gosched()
			err = readAt(b.Versioned, want)
		}
		if err != nil {
			t.Errorf("epoch %d, part %d: %v", epoch, w, err)
		}
		reads.Add(1)
	}
}

// A writer without a barrier tears what is read; no torn row passes the check. The rows lie in shared memory, which the
// race detector does not follow.
func TestBrokenWriterIsCaught(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "386" {
		t.Skipf("%s may read rows after the check: there the barrier alone protects", runtime.GOARCH)
	}
	b := blockOf(t, 4000, LockOptions{Optional: true})
	refresh(t, b, 0)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for epoch := 1; !stop.Load(); epoch = epoch%(1<<15) + 1 {
			if epoch == 1 {
				b.last = 0 // numbers stay where float32 counts exactly
			}
			refresh(t, b, epoch)
		}
	})
	var torn, good int
	for deadline := time.Now().Add(20 * time.Second); (torn < 20 || good < 20) && time.Now().Before(deadline); {
		epochs := b.Epochs()
		if len(epochs) == 0 {
			continue
		}
		err := readAt(b, epochs[0])
		var fault *VersionFault
		switch {
		case err == nil:
			good++
		case !errors.As(err, &fault):
			t.Fatal(err)
		case fault.Torn:
			torn++
		}
	}
	stop.Store(true)
	wg.Wait()
	if torn < 20 || good < 20 {
		t.Errorf("%d reads were torn and %d were not: nothing was tested", torn, good)
	}
}

// fill writes rows that belong to an epoch and to their places.
func fill(rows []float32, epoch int) {
	for i := range rows {
		rows[i] = float32(epoch<<8 + i&255)
	}
}

// differs returns the first element that does not belong to epoch, −1: none.
func differs(rows []float32, epoch int) int {
	for i, x := range rows {
		if x != float32(epoch<<8+i&255) {
			return i
		}
	}
	return -1
}
