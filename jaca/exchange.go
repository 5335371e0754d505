package jaca

import (
	"errors"
	"fmt"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/direction"
)

// Direction says which pass an exchange belongs to.
type Direction = direction.Direction

// The two passes.
const (
	Forward  = direction.Forward  // rows of H, read by aggregation into a part
	Backward = direction.Backward // rows over H', read by its transpose
)

// Exchange is the halo rows that one layer exchanges in one direction, in every epoch if there are no caches: part i reads Halos[i].
// Layer 0 has no Exchange, because it never exchanges (docs/mathematics.md).
type Exchange struct {
	Layer    int
	Dir      Direction
	RowBytes gpu.Bytes // width × element size: what a local slot takes
	// WireBytes is the size of a row on links and in the global cache, if rows are encoded; 0 = RowBytes.
	WireBytes gpu.Bytes
	Halos     []Halo // by reader
}

// Halo is what one part reads in one exchange. A row is known by its halo index, its place in IDs.
type Halo struct {
	IDs    []graph.NodeID // grouped by owner, as graph.Block has them
	Owners graph.Owners   // of IDs
	Count  []int          // of those of the k-th owner the first Count[k] are exchanged
	Edges  []int32        // edges into the part, by halo index
}

// HaloOf returns the halo rows that a layer exchanges for a block: of Part.In forward, of Part.Out backward. It
// shares slices with the block.
func HaloOf(b *graph.Block, layer int) Halo {
	h := Halo{IDs: b.IDs, Owners: b.Owners, Count: make([]int, len(b.Owners.Parts)), Edges: b.HaloEdges()}
	for k := range h.Count {
		h.Count[k] = b.Count(k, layer)
	}
	return h
}

// NewExchange is the exchange of a layer over the parts of a cut.
func NewExchange(c *graph.Cut, layer int, dir Direction, rowBytes gpu.Bytes) Exchange {
	var blocks []*graph.Block
	for _, p := range c.Parts {
		b := &p.In
		if dir == Backward {
			b = &p.Out
		}
		blocks = append(blocks, b)
	}
	return ExchangeOf(blocks, layer, dir, rowBytes)
}

// ExchangeOf returns the exchange of a layer in which the parts read these blocks.
func ExchangeOf(blocks []*graph.Block, layer int, dir Direction, rowBytes gpu.Bytes) Exchange {
	x := Exchange{Layer: layer, Dir: dir, RowBytes: rowBytes}
	for _, b := range blocks {
		x.Halos = append(x.Halos, HaloOf(b, layer))
	}
	return x
}

// wire returns the bytes of a row in the form in which it travels.
func (x *Exchange) wire() gpu.Bytes {
	if x.WireBytes > 0 {
		return x.WireBytes
	}
	return x.RowBytes
}

// Rows returns the halo rows that are exchanged, over all parts: Σ|H_i|.
func (x *Exchange) Rows() int {
	n := 0
	for i := range x.Halos {
		n += x.Halos[i].rows()
	}
	return n
}

func (h *Halo) rows() int {
	n := 0
	for _, c := range h.Count {
		n += c
	}
	return n
}

// each calls f for every exchanged row, by owner and halo index: the order in which the part reads them. owner is its place among
// the owners.
func (h *Halo) each(f func(owner, halo int)) {
	for k, n := range h.Count {
		for x := h.Owners.At[k]; x < h.Owners.At[k]+n; x++ {
			f(k, x)
		}
	}
}

// validate says what is wrong with the exchange, all at once.
func (x *Exchange) validate() error {
	var errs []error
	bad := func(format string, a ...any) {
		errs = append(errs, fmt.Errorf("exchange of layer %d %s: %w", x.Layer, x.Dir, fmt.Errorf(format, a...)))
	}
	if x.Layer < 1 {
		bad("layer 0 never exchanges")
	}
	if x.RowBytes < 1 || x.WireBytes < 0 {
		bad("rows of %d bytes, of %d on their way", x.RowBytes, x.WireBytes)
	}
	for i := range x.Halos {
		h := &x.Halos[i]
		if !h.Owners.Valid(len(h.IDs), len(x.Halos)) || len(h.Count) != len(h.Owners.Parts) || len(h.Edges) != len(h.IDs) {
			bad("part %d: %d owners, %d offsets, %d counts, %d ids, %d edge counts", i, len(h.Owners.Parts), len(h.Owners.At), len(h.Count), len(h.IDs), len(h.Edges))
			continue
		}
		for k, n := range h.Count {
			if lo, hi := h.Owners.At[k], h.Owners.At[k+1]; n < 0 || n > hi-lo || int(h.Owners.Parts[k]) == i && n > 0 {
				bad("part %d reads %d rows of part %d, which has offsets %d to %d", i, n, h.Owners.Parts[k], lo, hi)
			}
		}
	}
	return errors.Join(errs...)
}
