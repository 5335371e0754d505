package hostmem

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sync/atomic"
)

// Versioned is a block of a region whose rows are replaced, as a whole, by one writer while others read: the rows of one
// refresh class that one owner keeps in the global cache.
//
// Method: two generations; refresh k writes generation k mod 2, so the rows of refresh k−1 stay. The stamp of a generation
// names the epoch of its rows. The writer marks it before the first row and publishes, by one atomic store, after the last;
// a reader loads it before and checks it after. No reader and no writer ever waits. A reader may also begin while the writer
// writes (Follow): it then learns by other means (events) which rows are there, and checks after all were published.
//
// Why this suffices: workers are never more than one epoch apart (the barrier of the gradient reduction), so all readers of
// refresh k−2 are done before refresh k begins. The stamps detect a broken barrier; they do not replace it.
//
// Source: docs/caching.md; the paper's optimistic lock (§4.2).
type Versioned struct {
	owner, name string
	gens        [2]generation

	// Of the writer alone.
	refreshes int
	writing   bool
	last      int // epoch begun last; −1: none
}

// generation is one copy of a block's rows.
type generation struct {
	stamp stamp
	rows  []byte
}

// stamp is 0 (empty), 2·(epoch+1) (published), 2·(epoch+1)+1 (being written) or stampClosed.
type stamp struct{ atomic.Uint64 }

const stampClosed = math.MaxUint64

// VersionFault says that a block does not hold the rows that the schedule promises.
type VersionFault struct {
	Owner, Block string
	Want         int    // epoch asked for
	Torn         bool   // it was there and was overwritten while it was read
	Found        [2]int // epochs of the generations; −1: none
	Writing      [2]bool
}

// Error gives one line: block, epoch wanted and what is there.
func (f *VersionFault) Error() string {
	what := "is not there"
	if f.Torn {
		what = "was overwritten while it was read"
	}
	var gen [2]string
	for i, e := range f.Found {
		gen[i] = "nothing"
		if e >= 0 {
			gen[i] = fmt.Sprintf("epoch %d", e)
		}
		if f.Writing[i] {
			gen[i] += ", being written"
		}
	}
	return fmt.Sprintf("%s: block %q: epoch %d %s (generation 0: %s; generation 1: %s)", f.Owner, f.Block, f.Want, what, gen[0], gen[1])
}

// Begin returns the memory for the rows of an epoch: the older one of the two generations, which belongs to the writer until
// Publish. Epochs must increase from call to call. A block has one writer at a time.
func (b *Versioned) Begin(epoch int) ([]byte, error) {
	if b.writing || epoch <= b.last {
		return nil, fmt.Errorf("%s: block %q: begin epoch %d after epoch %d (published: %t)", b.owner, b.name, epoch, b.last, !b.writing)
	}
	g := &b.gens[b.refreshes%2]
	// Nothing that the writer does later may come before this mark: an exchange, not a store.
	if g.stamp.Swap(written(epoch)|1) == stampClosed {
		g.stamp.Store(stampClosed)
		return nil, b.isClosed()
	}
	b.writing, b.last = true, epoch
	return g.rows, nil
}

// Publish makes the rows of the last Begin readable.
func (b *Versioned) Publish() error {
	g := &b.gens[b.refreshes%2]
	switch {
	case g.stamp.Load() == stampClosed:
		return b.isClosed()
	case !b.writing:
		return fmt.Errorf("%s: block %q: publish without begin", b.owner, b.name)
	}
	b.writing = false
	b.refreshes++
	g.stamp.Store(written(b.last))
	return nil
}

// Reading is one reader's view of the rows of one epoch.
type Reading struct {
	block *Versioned
	gen   int
	epoch int
}

// Read returns the rows of exactly that epoch, or a *VersionFault if no generation holds them.
func (b *Versioned) Read(epoch int) (Reading, error) {
	for i := range b.gens {
		if epoch >= 0 && b.gens[i].stamp.Load() == written(epoch) {
			return Reading{b, i, epoch}, nil
		}
	}
	return Reading{}, b.fault(epoch, false)
}

// Follow is Read for a reader that may begin while the rows are being written. Some rows may not be there yet, and Check fails
// until all were published.
func (b *Versioned) Follow(epoch int) (Reading, error) {
	for i := range b.gens {
		if epoch >= 0 && b.gens[i].stamp.Load()|1 == written(epoch)|1 {
			return Reading{b, i, epoch}, nil
		}
	}
	return Reading{}, b.fault(epoch, false)
}

// Rows returns the rows, to be read only, until Check.
func (r Reading) Rows() []byte { return r.block.gens[r.gen].rows }

// Check is called after the last row was read. A *VersionFault says that the rows that were read must be discarded: the writer
// overwrote them in the meantime, or a reader that followed the writer (Follow) was ahead of it.
func (r Reading) Check() error {
	s := r.block.gens[r.gen].stamp.Load()
	if s == written(r.epoch) {
		return nil
	}
	return r.block.fault(r.epoch, s != written(r.epoch)|1)
}

// Epochs returns the epochs whose rows can be read, ascending; there are at most two.
func (b *Versioned) Epochs() []int {
	var out []int
	for i := range b.gens {
		if epoch, writing := b.gens[i].stamp.epoch(); epoch >= 0 && !writing {
			out = append(out, epoch)
		}
	}
	slices.Sort(out)
	return out
}

// Size is the number of bytes of a generation.
func (b *Versioned) Size() int { return len(b.gens[0].rows) }

// fault describes the block to a reader who does not find epoch.
func (b *Versioned) fault(epoch int, torn bool) error {
	f := &VersionFault{Owner: b.owner, Block: b.name, Want: epoch, Torn: torn}
	for i := range b.gens {
		if b.gens[i].stamp.Load() == stampClosed {
			return b.isClosed()
		}
		f.Found[i], f.Writing[i] = b.gens[i].stamp.epoch()
	}
	return f
}

func (b *Versioned) isClosed() error {
	return fmt.Errorf("%s: block %q: %w", b.owner, b.name, os.ErrClosed)
}

// written is the stamp of published rows.
func written(epoch int) uint64 { return 2 * (uint64(epoch) + 1) }

// epoch takes a stamp apart: −1 for one that is empty or closed.
func (s *stamp) epoch() (epoch int, writing bool) {
	v := s.Load()
	if v == stampClosed {
		return -1, false
	}
	return int(v/2) - 1, v&1 == 1
}
