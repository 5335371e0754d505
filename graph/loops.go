package graph

import "slices"

// Loops says what happens to the self-loops v → v of a graph.
type Loops int

// The zero value leaves a graph as it is.
const (
	LoopsKept    Loops = iota // as they are
	LoopsAdded                // one at every vertex
	LoopsRemoved              // none
)

func (l Loops) String() string { return [...]string{"kept", "added", "removed"}[l] }

// Of returns a graph with self-loops as l says.
func (l Loops) Of(g *CSR) *CSR {
	if l == LoopsKept {
		return g
	}
	return g.withLoops(l)
}

// Has reports whether vertex v of g has the edge v → v.
func (l Loops) Has(g *CSR, v NodeID) bool {
	if l != LoopsKept {
		return l == LoopsAdded
	}
	_, has := slices.BinarySearch(g.Row(int(v)), v)
	return has
}

// Split returns the pieces of row v of g before and after its self-loop, and whether there is a self-loop between
// them under l. If l keeps self-loops, the row is one piece that includes its self-loop, if it has one.
func (l Loops) Split(g *CSR, v NodeID) (before, behind []NodeID, loop bool) {
	row := g.Row(int(v))
	if l == LoopsKept {
		return row, nil, false
	}
	k, has := slices.BinarySearch(row, v)
	before, behind = row[:k], row[k:]
	if has {
		behind = behind[1:]
	}
	return before, behind, l == LoopsAdded
}

// Degrees returns the in-degree and the out-degree of every vertex of g, with self-loops as l says.
func (l Loops) Degrees(g *CSR) (in, out []int32) {
	in, out = make([]int32, g.Rows()), g.OutDegree()
	EachBlock(len(in), rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			change := int32(l.change(v, g.Row(v)))
			in[v] = int32(len(g.Row(v))) + change
			out[v] += change
		}
	})
	return in, out
}

// change returns by how much the number of edges of row v, which are given, grows: -1, 0 or 1.
func (l Loops) change(v int, row []NodeID) int {
	if l == LoopsKept {
		return 0
	}
	_, has := slices.BinarySearch(row, NodeID(v))
	switch {
	case l == LoopsAdded && !has:
		return 1
	case l == LoopsRemoved && has:
		return -1
	}
	return 0
}

// WithLoops returns the graph with the edge v → v, of weight 1, added to every vertex that lacks it; g itself if none does.
func (g *CSR) WithLoops() *CSR { return g.withLoops(LoopsAdded) }

// WithoutLoops returns the graph without edges v → v; g itself if there are none.
func (g *CSR) WithoutLoops() *CSR { return g.withLoops(LoopsRemoved) }

func (g *CSR) withLoops(l Loops) *CSR {
	n := g.Rows()
	out := &CSR{Indptr: make([]int64, n+1), Cols: g.Cols}
	changed := anyBlock(n, rowBlock, func(lo, hi int) bool {
		return slices.ContainsFunc(out.Indptr[lo:hi], func(int64) bool { lo++; return l.change(lo-1, g.Row(lo-1)) != 0 })
	})
	if !changed {
		return g
	}
	EachBlock(n, rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			out.Indptr[v+1] = int64(len(g.Row(v)) + l.change(v, g.Row(v)))
		}
	})
	accumulate(out.Indptr)
	out.Indices = make([]NodeID, out.Indptr[n])
	EachBlock(n, rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			src, dst := g.Row(v), out.Indices[out.Indptr[v]:out.Indptr[v+1]]
			k, has := slices.BinarySearch(src, NodeID(v))
			copy(dst, src[:k])
			switch {
			case len(dst) > len(src):
				dst[k] = NodeID(v)
				copy(dst[k+1:], src[k:])
			case len(dst) < len(src) && has:
				copy(dst[k:], src[k+1:])
			default:
				copy(dst[k:], src[k:])
			}
		}
	})
	ids := make([]NodeID, n)
	for v := range ids {
		ids[v] = NodeID(v)
	}
	out.Weights = g.Weigh(nil, out.Indptr, out.Indices, func(r int) NodeID { return ids[r] }, ids, false)
	return out
}
