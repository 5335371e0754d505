package graph

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
)

// An order of the vertices is returned as the rank of every vertex: a permutation of 0 to n-1, what Split takes. Orders look
// at an edge in both directions, whatever the graph, and at no loops; they are equal for any number of threads and on every
// platform. g must be square.

// OrderDegree ranks vertices by descending degree (in and out), ties by id.
//
// Why: rows that many read lie side by side, which spares address translation; a yardstick for the other orders.
// Source: "hub sort" of Balaji and Lucia, "When is graph reordering an optimization?", 2018.
func OrderDegree(g *CSR) []int32 {
	degree := g.OutDegree()
	order := make([]NodeID, g.Rows())
	for v := range order {
		order[v] = NodeID(v)
		degree[v] += int32(g.Indptr[v+1] - g.Indptr[v])
	}
	slices.SortFunc(order, func(a, b NodeID) int {
		return cmp.Or(cmp.Compare(degree[b], degree[a]), cmp.Compare(a, b))
	})
	return ranks(order)
}

// ranks returns the inverse of an order: the place of every vertex.
func ranks(order []NodeID) []int32 {
	rank := make([]int32, len(order))
	for i, v := range order {
		rank[v] = int32(i)
	}
	return rank
}

// undirected returns g if it is symmetric, else its union with its transpose.
//
// Method: each edge adds a hash of its pair of ends, u → v with u < v positively, else negatively; a symmetric graph sums to
// 0 modulo 2⁶⁴, another one with a chance of 2⁻⁶⁴, and would then be ordered by its in-neighbours alone.
// Why: one pass over the edges in memory order, a tenth of the time that transposing and comparing takes.
func undirected(c *crew, g *CSR) (*CSR, error) {
	const rows = 1 << 12
	var sum atomic.Uint64
	n := g.Rows()
	err := c.each("symmetry", blocks(n, rows), func(block int) {
		s := uint64(0)
		for v := block * rows; v < min(n, (block+1)*rows); v++ {
			for _, u := range g.Row(v) {
				if int(u) < v {
					s += mix(uint64(u)<<32 | uint64(v))
				} else if int(u) > v {
					s -= mix(uint64(v)<<32 | uint64(u))
				}
			}
		}
		sum.Add(s)
	})
	if err != nil || sum.Load() == 0 {
		return g, err
	}
	return g.Symmetrise(), c.ctx.Err()
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014): a bijection whose bits look independent of x's.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// OrderRCM ranks vertices in reverse Cuthill-McKee order.
//
// Returns: an order of small bandwidth (largest |rank u − rank v| over the edges); an error only if ctx ended.
//
// Method: in each component a breadth-first search from a pseudo-peripheral vertex, found by repeated searches from a vertex of
// least degree in the last level while the depth grows; each vertex appends its new neighbours by ascending degree, ties by
// id; the order of all components, by their lowest id, is reversed. One thread.
//
// Why: best for meshes, where neighbours then lie within one level's width; graphs with hubs have few, wide levels.
//
// Source: Cuthill and McKee, 1969; George and Liu, "Computer solution of large sparse positive definite systems", 1981 (the
// start, and reversal).
func OrderRCM(ctx context.Context, g *CSR) ([]int32, error) {
	u, err := undirected(newCrew(ctx, Making{}), g)
	if err != nil {
		return nil, err
	}
	s := &rcm{u: u, seen: make([]bool, u.Rows()), order: make([]NodeID, 0, u.Rows())}
	for v := range s.seen {
		if s.seen[v] {
			continue
		}
		if err := s.component(ctx, NodeID(v)); err != nil {
			return nil, err
		}
	}
	slices.Reverse(s.order)
	return ranks(s.order), nil
}

// rcm is the state of OrderRCM: order is a queue of the vertices seen.
type rcm struct {
	u     *CSR
	seen  []bool
	order []NodeID
	steps int
}

// component appends the component of v.
func (s *rcm) component(ctx context.Context, v NodeID) error {
	from := len(s.order)
	depth := -1
	for {
		d, last, err := s.search(ctx, v, false)
		if err != nil {
			return err
		}
		w := slices.MinFunc(s.order[last:], s.byDegree)
		for _, x := range s.order[from:] {
			s.seen[x] = false
		}
		s.order = s.order[:from]
		if d <= depth {
			break
		}
		depth, v = d, w
	}
	_, _, err := s.search(ctx, v, true)
	return err
}

// byDegree compares by ascending degree, then id.
func (s *rcm) byDegree(a, b NodeID) int {
	return cmp.Or(cmp.Compare(len(s.u.Row(int(a))), len(s.u.Row(int(b)))), cmp.Compare(a, b))
}

// search appends what it reaches from root, and returns the number of levels below it and the place where the last begins.
func (s *rcm) search(ctx context.Context, root NodeID, sorted bool) (depth, last int, err error) {
	last = len(s.order)
	s.order, s.seen[root] = append(s.order, root), true
	for at, level := last, len(s.order); at < len(s.order); at++ {
		if at == level {
			depth, last, level = depth+1, at, len(s.order)
		}
		if s.steps++; s.steps%(1<<12) == 0 && ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		from := len(s.order)
		for _, w := range s.u.Row(int(s.order[at])) {
			if !s.seen[w] {
				s.order, s.seen[w] = append(s.order, w), true
			}
		}
		if sorted {
			slices.SortFunc(s.order[from:], s.byDegree)
		}
	}
	return depth, last, nil
}
