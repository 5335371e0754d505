package graph

import (
	"errors"
	"fmt"
	"slices"
)

// NodeID is the id of a vertex, 0 to n-1.
type NodeID = int32

// CSR is a directed graph or a rectangular piece of one: row v lists the in-neighbours of v, ascending, without repeats
// (messages flow u → v for every u in Row(v)). A CSR is immutable once built; its slices may be memory-mapped.
type CSR struct {
	Indptr  []int64  // len Rows+1, Indptr[0] = 0
	Indices []NodeID // len Indptr[Rows], each in [0, Cols)
	Cols    int      // number of source vertices; equals the number of rows in a whole graph
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
	for v := range g.Rows() {
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
}

// Normalise returns a CSR with the same edges, rows sorted and repeats merged. It checks bounds and row pointers first, so
// it takes arrays straight from a file; g itself is not changed. If g is normal already, g is returned.
func Normalise(g *CSR) (*CSR, error) {
	n := len(g.Indptr) - 1
	if n < 0 {
		return nil, errors.New("row pointers are empty")
	}
	if g.Indptr[0] != 0 || g.Indptr[n] != int64(len(g.Indices)) {
		return nil, fmt.Errorf("row pointers run from %d to %d, want 0 to %d", g.Indptr[0], g.Indptr[n], len(g.Indices))
	}
	normal := true
	for v := range n {
		lo, hi := g.Indptr[v], g.Indptr[v+1]
		if hi < lo || hi > int64(len(g.Indices)) {
			return nil, fmt.Errorf("row pointer %d is %d, out of order", v+1, hi)
		}
		prev := NodeID(-1)
		for _, u := range g.Indices[lo:hi] {
			if u < 0 || int(u) >= g.Cols {
				return nil, fmt.Errorf("row %d: neighbour %d is outside [0, %d)", v, u, g.Cols)
			}
			if u <= prev {
				normal = false
			}
			prev = u
		}
	}
	if normal {
		return g, nil
	}
	out := &CSR{Indptr: make([]int64, n+1), Indices: slices.Clone(g.Indices), Cols: g.Cols}
	w := int64(0)
	for v := range n {
		row := out.Indices[g.Indptr[v]:g.Indptr[v+1]]
		slices.Sort(row)
		for k, u := range row {
			if k == 0 || u != row[k-1] {
				out.Indices[w] = u
				w++
			}
		}
		out.Indptr[v+1] = w
	}
	out.Indices = out.Indices[:w:w]
	return out, nil
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
func (g *CSR) Transpose() *CSR {
	t := &CSR{Indptr: make([]int64, g.Cols+1), Indices: make([]NodeID, len(g.Indices)), Cols: g.Rows()}
	for _, u := range g.Indices {
		t.Indptr[u+1]++
	}
	for u := range g.Cols {
		t.Indptr[u+1] += t.Indptr[u]
	}
	next := slices.Clone(t.Indptr[:g.Cols])
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			t.Indices[next[u]] = NodeID(v)
			next[u]++
		}
	}
	return t
}

// Equal reports whether g and h have the same shape and edges.
func (g *CSR) Equal(h *CSR) bool {
	return g.Cols == h.Cols && slices.Equal(g.Indptr, h.Indptr) && slices.Equal(g.Indices, h.Indices)
}

// Symmetric reports whether u → v implies v → u.
func (g *CSR) Symmetric() bool { return g.Rows() == g.Cols && g.Equal(g.Transpose()) }

// Symmetrise returns A ∨ Aᵀ: the graph with the reverse of every edge added; g itself if that changes nothing.
func (g *CSR) Symmetrise() *CSR {
	t := g.Transpose()
	if g.Equal(t) {
		return g
	}
	return union(g, t)
}

func union(a, b *CSR) *CSR {
	n := a.Rows()
	out := &CSR{Indptr: make([]int64, n+1), Cols: a.Cols, Indices: make([]NodeID, 0, len(a.Indices)+len(b.Indices)/4)}
	for v := range n {
		p, q := a.Row(v), b.Row(v)
		for len(p) > 0 && len(q) > 0 {
			switch {
			case p[0] < q[0]:
				out.Indices, p = append(out.Indices, p[0]), p[1:]
			case p[0] > q[0]:
				out.Indices, q = append(out.Indices, q[0]), q[1:]
			default:
				out.Indices, p, q = append(out.Indices, p[0]), p[1:], q[1:]
			}
		}
		out.Indices = append(append(out.Indices, p...), q...)
		out.Indptr[v+1] = int64(len(out.Indices))
	}
	return out
}

// WithoutLoops returns the graph without edges v → v.
func (g *CSR) WithoutLoops() *CSR {
	out := &CSR{Indptr: make([]int64, len(g.Indptr)), Indices: make([]NodeID, 0, len(g.Indices)), Cols: g.Cols}
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			if int(u) != v {
				out.Indices = append(out.Indices, u)
			}
		}
		out.Indptr[v+1] = int64(len(out.Indices))
	}
	return out
}

// WithLoops returns the graph with the edge v → v added to every vertex that lacks it.
func (g *CSR) WithLoops() *CSR {
	n := g.Rows()
	loops := &CSR{Indptr: make([]int64, n+1), Indices: make([]NodeID, n), Cols: g.Cols}
	for v := range n {
		loops.Indices[v] = NodeID(v)
		loops.Indptr[v+1] = int64(v + 1)
	}
	return union(g, loops)
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
	for _, u := range g.Indices {
		d[u]++
	}
	return d
}
