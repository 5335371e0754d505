package graph

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// NodeID is the id of a vertex, 0 to n-1.
type NodeID = int32

// CSR is a directed graph or a rectangular piece of one: row v lists the in-neighbours of v, ascending, without repeats
// (messages flow u → v for every u in Row(v)). A CSR is immutable once built; its slices may be memory-mapped.
type CSR struct {
	Indptr  []int64  // len Rows+1, Indptr[0] = 0
	Indices []NodeID // len Indptr[Rows], each in [0, Cols)
	Cols    int      // number of source vertices; equals the number of rows in a whole graph
	// Weights are those of the edges, finite, in the order of Indices; nil: all are 1. Only whole graphs and the rows of shards have weights; of pieces, Weigh finds them.
	Weights []float32
}

// Rows returns the number of rows (destination vertices).
func (g *CSR) Rows() int { return len(g.Indptr) - 1 }

// Edges returns the number of stored directed edges.
func (g *CSR) Edges() int64 { return g.Indptr[len(g.Indptr)-1] }

// Row returns the in-neighbours of v. The caller must not change it.
func (g *CSR) Row(v int) []NodeID { return g.Indices[g.Indptr[v]:g.Indptr[v+1]] }

// Edge is a directed edge.
type Edge struct{ From, To NodeID }

// Validate checks every invariant of a CSR and reports the first one broken. Cost: one pass.
func (g *CSR) Validate() error {
	if len(g.Indptr) == 0 {
		return errors.New("row pointers are empty")
	}
	if g.Indptr[0] != 0 {
		return fmt.Errorf("row pointer 0 is %d, want 0", g.Indptr[0])
	}
	if last := g.Indptr[len(g.Indptr)-1]; last != int64(len(g.Indices)) {
		return fmt.Errorf("last row pointer is %d, but there are %d indices", last, len(g.Indices))
	}
	for v := range g.Rows() {
		if g.Indptr[v+1] < g.Indptr[v] {
			return fmt.Errorf("row pointer %d is %d, below the one before it (%d)", v+1, g.Indptr[v+1], g.Indptr[v])
		}
	}
	err := firstError(g.Rows(), rowBlock, func(lo, hi int) error {
		for v := lo; v < hi; v++ {
			prev := NodeID(-1)
			for k, u := range g.Row(v) {
				if u < 0 || int(u) >= g.Cols {
					return fmt.Errorf("row %d: neighbour %d is outside [0, %d)", v, u, g.Cols)
				}
				if u <= prev {
					return fmt.Errorf("row %d: neighbours %d and %d (%d, %d) are not ascending", v, k-1, k, prev, u)
				}
				prev = u
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.validateWeights()
}

// Normalise returns a CSR with the same edges, rows sorted and repeats merged, their weights added up. It checks bounds and row pointers first, so
// it takes arrays straight from a file; g itself is not changed. If g is normal already, g is returned.
func Normalise(g *CSR) (*CSR, error) {
	normal, err := g.Normal()
	switch {
	case err != nil:
		return nil, err
	case normal:
		return g, nil
	}
	return g.sorted(), nil
}

// Normal reports whether rows are sorted and have no repeats. Row pointers and bounds that are wrong are an error.
func (g *CSR) Normal() (bool, error) {
	n := len(g.Indptr) - 1
	if n < 0 {
		return false, errors.New("row pointers are empty")
	}
	if g.Indptr[0] != 0 || g.Indptr[n] != int64(len(g.Indices)) {
		return false, fmt.Errorf("row pointers run from %d to %d, want 0 to %d", g.Indptr[0], g.Indptr[n], len(g.Indices))
	}
	var unsorted atomic.Bool
	err := firstError(n, rowBlock, func(lo, hi int) error {
		normal, err := g.checkRows(lo, hi)
		if !normal {
			unsorted.Store(true)
		}
		return err
	})
	return err == nil && !unsorted.Load(), err
}

// checkRows checks row pointers and bounds of rows lo to hi-1 and reports whether they ascend. Where the first pointer is out
// of range, the rows before, which end with it, have the fault.
func (g *CSR) checkRows(lo, hi int) (normal bool, err error) {
	normal = true
	for v := lo; v < hi; v++ {
		begin, end := g.Indptr[v], g.Indptr[v+1]
		if begin < 0 || begin > int64(len(g.Indices)) {
			return normal, nil
		}
		if end < begin || end > int64(len(g.Indices)) {
			return normal, fmt.Errorf("row pointer %d is %d, out of order", v+1, end)
		}
		prev := NodeID(-1)
		for _, u := range g.Indices[begin:end] {
			if u < 0 || int(u) >= g.Cols {
				return normal, fmt.Errorf("row %d: neighbour %d is outside [0, %d)", v, u, g.Cols)
			}
			if u <= prev {
				normal = false
			}
			prev = u
		}
	}
	return normal, nil
}

// sorted returns g with its rows sorted and repeats merged.
func (g *CSR) sorted() *CSR {
	if g.Weights != nil {
		return g.sortedWeighted()
	}
	n := g.Rows()
	out := &CSR{Indptr: make([]int64, n+1), Indices: slices.Clone(g.Indices), Cols: g.Cols}
	EachBlock(n, rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			row := out.Indices[g.Indptr[v]:g.Indptr[v+1]]
			slices.Sort(row)
			out.Indptr[v+1] = int64(len(slices.Compact(row)))
		}
	})
	accumulate(out.Indptr)
	for v := range n {
		copy(out.Indices[out.Indptr[v]:out.Indptr[v+1]], out.Indices[g.Indptr[v]:])
	}
	out.Indices = out.Indices[:out.Indptr[n]:out.Indptr[n]]
	return out
}

// FromEdges builds the graph of n vertices with these edges; repeats are merged. Errors name the first edge that is out
// of range.
func FromEdges(n int, edges []Edge) (*CSR, error) {
	g := &CSR{Indptr: make([]int64, n+1), Indices: make([]NodeID, len(edges)), Cols: n}
	for k, e := range edges {
		if e.From < 0 || int(e.From) >= n || e.To < 0 || int(e.To) >= n {
			return nil, fmt.Errorf("edge %d: %d → %d is outside [0, %d)", k, e.From, e.To, n)
		}
		g.Indptr[e.To+1]++
	}
	for v := range n {
		g.Indptr[v+1] += g.Indptr[v]
	}
	next := slices.Clone(g.Indptr[:n])
	for _, e := range edges {
		g.Indices[next[e.To]] = e.From
		next[e.To]++
	}
	return Normalise(g)
}

// Transpose returns the graph with every edge reversed: row u of the result lists the v with u in g.Row(v).
//
// Method: one goroutine per range of columns, which reads that piece of every row; so each writes to rows of its own, in
// ascending order.
func (g *CSR) Transpose() *CSR {
	t := &CSR{Indptr: make([]int64, g.Cols+1), Indices: make([]NodeID, len(g.Indices)), Cols: g.Rows()}
	for u, d := range g.OutDegree() {
		t.Indptr[u+1] = int64(d)
	}
	if g.Weights != nil {
		t.Weights = make([]float32, len(g.Weights))
	}
	accumulate(t.Indptr)
	next, weights := slices.Clone(t.Indptr[:g.Cols]), t.Weights
	EachBlock(g.Cols, rangeSize(g.Cols), func(lo, hi int) {
		for v := range g.Rows() {
			row := g.Row(v)
			piece := within(row, lo, hi, g.Cols)
			at := g.Indptr[v] + int64(cap(row)-cap(piece)) // both reach to the end of Indices
			for k, u := range piece {
				t.Indices[next[u]] = NodeID(v)
				if weights != nil {
					weights[next[u]] = g.Weights[at+int64(k)]
				}
				next[u]++
			}
		}
	})
	return t
}

// within returns the part of a row whose columns lie in [lo, hi), of cols in all.
func within(row []NodeID, lo, hi, cols int) []NodeID {
	if hi < cols {
		k, _ := slices.BinarySearch(row, NodeID(hi))
		row = row[:k]
	}
	if lo > 0 {
		k, _ := slices.BinarySearch(row, NodeID(lo))
		row = row[k:]
	}
	return row
}

// Equal reports whether g and h have the same shape, edges and weights.
func (g *CSR) Equal(h *CSR) bool {
	return g.Cols == h.Cols && slices.Equal(g.Indptr, h.Indptr) && slices.Equal(g.Indices, h.Indices) && slices.Equal(g.Weights, h.Weights)
}

// Symmetric reports whether u → v implies v → u, whatever their weights.
//
// Method: the rows v in ascending order; each u < v of row v must be the next entry of row u beyond its diagonal, and at the
// end none of those may be left. One goroutine per range of u, which stops at the first edge that has no reverse.
// Why: half the random reads of a transpose, and no memory but a cursor per row.
func (g *CSR) Symmetric() bool {
	n := g.Rows()
	return n == g.Cols && !anyBlock(n, rangeSize(n), func(lo, hi int) bool {
		next := make([]int64, hi-lo) // per row lo to hi-1: its first entry beyond the diagonal that was not met yet
		for v := lo; v < n; v++ {
			lower := within(g.Row(v), lo, min(hi, v), n)
			for _, u := range lower {
				at := next[int(u)-lo]
				if at == g.Indptr[u+1] || g.Indices[at] != NodeID(v) {
					return true
				}
				next[int(u)-lo]++
			}
			if v < hi {
				k, _ := slices.BinarySearch(g.Row(v), NodeID(v+1))
				next[v-lo] = g.Indptr[v] + int64(k)
			}
		}
		for v := lo; v < hi; v++ {
			if next[v-lo] != g.Indptr[v+1] {
				return true
			}
		}
		return false
	})
}

// Symmetrise returns A ∨ Aᵀ: the graph with the reverse of every edge added, which weighs as much; g itself if that changes nothing.
func (g *CSR) Symmetrise() *CSR {
	if g.Symmetric() {
		return g
	}
	return Union(g, g.Transpose())
}

// Union returns a ∨ b: the graph with the edges of both, which have the same vertices, and weights both or neither. An edge of both has the weight of a's.
func Union(a, b *CSR) *CSR {
	n := a.Rows()
	out := &CSR{Indptr: make([]int64, n+1), Cols: a.Cols}
	EachBlock(n, rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			out.Indptr[v+1] = int64(merge(nil, a.Row(v), b.Row(v)))
		}
	})
	accumulate(out.Indptr)
	out.Indices = make([]NodeID, out.Indptr[n])
	EachBlock(n, rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			merge(out.Indices[out.Indptr[v]:out.Indptr[v+1]], a.Row(v), b.Row(v))
		}
	})
	out.uniteWeights(a, b)
	return out
}

// merge writes the union of two ascending rows to dst, unless that is nil, and returns its length.
func merge(dst, p, q []NodeID) int {
	n := 0
	for len(p) > 0 || len(q) > 0 {
		var u NodeID
		if len(q) == 0 || len(p) > 0 && p[0] <= q[0] {
			u = p[0]
		} else {
			u = q[0]
		}
		if len(p) > 0 && p[0] == u {
			p = p[1:]
		}
		if len(q) > 0 && q[0] == u {
			q = q[1:]
		}
		if dst != nil {
			dst[n] = u
		}
		n++
	}
	return n
}

// InDegree returns the number of in-neighbours of every row.
func (g *CSR) InDegree() []int32 {
	d := make([]int32, g.Rows())
	for v := range d {
		d[v] = int32(g.Indptr[v+1] - g.Indptr[v])
	}
	return d
}

// OutDegree returns the number of rows that list each column.
func (g *CSR) OutDegree() []int32 {
	d := make([]int32, g.Cols)
	EachBlock(g.Cols, rangeSize(g.Cols), func(lo, hi int) {
		if lo == 0 && hi == g.Cols {
			for _, u := range g.Indices {
				d[u]++
			}
			return
		}
		for v := range g.Rows() {
			for _, u := range within(g.Row(v), lo, hi, g.Cols) {
				d[u]++
			}
		}
	})
	return d
}
