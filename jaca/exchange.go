package jaca

import (
	"errors"
	"fmt"

	"capgnn/gpu"
	"capgnn/graph"
)

// Direction says which pass an exchange belongs to.
type Direction uint8

// The two passes.
const (
	Forward  Direction = iota // rows of H, read by aggregation into a part
	Backward                  // rows over H', read by its transpose
)

func (d Direction) String() string {
	if d == Backward {
		return "backward"
	}
	return "forward"
}

// Exchange is what one layer moves in one direction in every epoch without caches: Halos[i] is what part i reads. Layer 0
// never exchanges (DESIGN.md 3), so it has none.
type Exchange struct {
	Layer    int
	Dir      Direction
	RowBytes gpu.Bytes // width × element size: what a local slot takes
	// WireBytes is what a row takes on links and in the global cache, if it is encoded there; 0 = RowBytes.
	WireBytes gpu.Bytes
	Halos     []Halo // by reader
}

// Halo is what one part reads in one exchange. A row is known by its halo index, its place in IDs.
type Halo struct {
	IDs   []graph.NodeID // grouped by owner, as graph.Block has them
	Owner []int          // part p owns IDs[Owner[p]:Owner[p+1]]
	Count []int          // of those the first Count[p] are exchanged
	Edges []int32        // edges into the part, by halo index
}

// HaloOf returns the halo rows that a layer exchanges for a block: of Part.In forward, of Part.Out backward. IDs and Owner
// are the block's own.
func HaloOf(b *graph.Block, layer int) Halo {
	h := Halo{IDs: b.IDs, Owner: b.Owner, Count: make([]int, len(b.Owner)-1), Edges: make([]int32, len(b.IDs))}
	for p := range h.Count {
		h.Count[p] = b.Count(p, layer)
	}
	for _, x := range b.Halo.Indices {
		h.Edges[x]++
	}
	return h
}

// NewExchange is the exchange of a layer over the parts of a cut.
func NewExchange(c *graph.Cut, layer int, dir Direction, rowBytes gpu.Bytes) Exchange {
	x := Exchange{Layer: layer, Dir: dir, RowBytes: rowBytes}
	for _, p := range c.Parts {
		b := &p.In
		if dir == Backward {
			b = &p.Out
		}
		x.Halos = append(x.Halos, HaloOf(b, layer))
	}
	return x
}

// wire returns the bytes of a row on its way.
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

// each calls f for every exchanged row, by owner and halo index: the order in which the part reads them.
func (h *Halo) each(f func(owner, halo int)) {
	for p, n := range h.Count {
		for x := h.Owner[p]; x < h.Owner[p]+n; x++ {
			f(p, x)
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
		if len(h.Owner) != len(x.Halos)+1 || len(h.Count) != len(x.Halos) || len(h.Edges) != len(h.IDs) || h.Owner[len(x.Halos)] != len(h.IDs) {
			bad("part %d: %d owner offsets, %d counts, %d ids, %d edge counts", i, len(h.Owner), len(h.Count), len(h.IDs), len(h.Edges))
			continue
		}
		for p, n := range h.Count {
			if h.Owner[p] > h.Owner[p+1] || n < 0 || n > h.Owner[p+1]-h.Owner[p] || p == i && n > 0 {
				bad("part %d reads %d rows of part %d, which has offsets %d to %d", i, n, p, h.Owner[p], h.Owner[p+1])
			}
		}
	}
	return errors.Join(errs...)
}
