package multilevel

import "capgnn/graph"

// level is one graph of the hierarchy: symmetric, without loops. Level 0 is the caller's graph, its arrays shared.
type level struct {
	n   int
	ptr []int64 // row v is entries ptr[v] to ptr[v+1]-1
	// adj and edge hold the entries: neighbours, and the number of pairs of input vertices that they stand for; edge is nil where
	// that is 1 each. Rows of 2^shift vertices lie in one slice: levels are made in such pieces, and joining them would take
	// their memory twice.
	adj, edge [][]int32
	shift     uint
	weight    [][]int32 // per constraint: weight of every vertex; nil: 1 each
	members   []int32   // number of input vertices that every vertex stands for; nil: 1 each
	coarse    []int32   // vertex of the next level that holds each vertex; nil on the last level
}

// whole is the shift of a level in one piece.
const whole = 31

func newLevel(u *graph.CSR, constraints []Constraint) *level {
	g := &level{n: u.Rows(), ptr: u.Indptr, adj: [][]int32{u.Indices}, shift: whole}
	for _, c := range constraints {
		g.weight = append(g.weight, c.Weight)
	}
	return g
}

// row returns the neighbours of v and their weights, nil where all are 1.
func (g *level) row(v int32) (adj, edge []int32) {
	piece := v >> g.shift
	base := g.ptr[piece<<g.shift]
	lo, hi := g.ptr[v]-base, g.ptr[v+1]-base
	adj = g.adj[piece][lo:hi]
	if g.edge != nil {
		edge = g.edge[piece][lo:hi]
	}
	return adj, edge
}

// strength returns the sum of the edge weights of v.
func (g *level) strength(v int32) int32 {
	if g.edge == nil {
		return int32(g.degree(v))
	}
	sum := int32(0)
	_, edge := g.row(v)
	for _, w := range edge {
		sum += w
	}
	return sum
}

func (g *level) degree(v int32) int { return int(g.ptr[v+1] - g.ptr[v]) }

func (g *level) edges() int64 { return g.ptr[g.n] }

// of returns the weight of v in constraint c.
func (g *level) of(c int, v int32) int64 {
	if w := g.weight[c]; w != nil {
		return int64(w[v])
	}
	return 1
}

// holds returns the number of input vertices that v stands for.
func (g *level) holds(v int32) int64 {
	if g.members != nil {
		return int64(g.members[v])
	}
	return 1
}

// total returns the sum of weights per constraint.
func (g *level) total() []int64 {
	sum := make([]int64, len(g.weight))
	for c, w := range g.weight {
		if w == nil {
			sum[c] = int64(g.n)
		}
		for _, x := range w {
			sum[c] += int64(x)
		}
	}
	return sum
}
