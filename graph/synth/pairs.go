package synth

import (
	"math"
	"slices"
	"sync/atomic"

	"capgnn/graph"
	"capgnn/graph/internal/parallel"
)

const (
	pairBlock   = 1 << 16 // pairs drawn from one random stream
	vertexBlock = 1 << 12 // rows or vertices worked on at once; Dense draws each block from one random stream
	maxRounds   = 16      // of drawing; a round makes up for the repeats of those before it
)

// noPair marks a draw whose two ends are one vertex.
const noPair = math.MaxUint64

// drawPairs returns the upper half of the graph: row u lists the v > u, ascending, without repeats. It has at least s.Pairs
// entries, unless the model is so dense that maxRounds rounds do not find as many.
func (m *nest) drawPairs(c *parallel.Pool, s Nested) (*graph.CSR, error) {
	half := &graph.CSR{Indptr: make([]int64, s.Vertices+1), Cols: s.Vertices}
	want := s.Pairs
	for round := 0; round < maxRounds && half.Edges() < s.Pairs; round++ {
		pairs, err := m.round(c, s.Seed, round, int(want))
		if err != nil {
			return nil, err
		}
		more, err := upperHalf(c, pairs, s.Vertices)
		if err != nil {
			return nil, err
		}
		before := half.Edges()
		if before == 0 {
			half = more
		} else {
			half = graph.Union(half, more)
		}
		// The next round draws what is missing at this round's yield and a little more.
		missing, gained := s.Pairs-half.Edges(), max(1, half.Edges()-before)
		yield := float64(gained) / float64(max(1, want))
		want = int64(min(float64(missing)*1.1/yield+64, float64(s.Pairs)))
	}
	return half, nil
}

// round draws `count` pairs u < v as u·2³² + v.
func (m *nest) round(c *parallel.Pool, seed uint64, round, count int) ([]uint64, error) {
	pairs := make([]uint64, count)
	err := c.Each("edges", parallel.Blocks(count, pairBlock), func(b int) {
		r := stream(seed, streamEdges|uint64(round)<<48, b)
		for i := b * pairBlock; i < min((b+1)*pairBlock, count); i++ {
			u, v := m.pair(r)
			switch {
			case u < v:
				pairs[i] = uint64(u)<<32 | uint64(v)
			case u > v:
				pairs[i] = uint64(v)<<32 | uint64(u)
			default:
				pairs[i] = noPair
			}
		}
	})
	return pairs, err
}

// upperHalf makes rows of pairs; repeats are merged. The order in which threads put neighbours into a row is undone by
// sorting it.
func upperHalf(c *parallel.Pool, pairs []uint64, n int) (*graph.CSR, error) {
	g := &graph.CSR{Indptr: make([]int64, n+1), Cols: n}
	overPairs := func(stage string, f func(u, v graph.NodeID)) error {
		return c.Each(stage, parallel.Blocks(len(pairs), pairBlock), func(b int) {
			for _, p := range pairs[b*pairBlock : min((b+1)*pairBlock, len(pairs))] {
				if p != noPair {
					f(graph.NodeID(p>>32), graph.NodeID(p&math.MaxUint32))
				}
			}
		})
	}
	if err := overPairs("degrees", func(u, _ graph.NodeID) { atomic.AddInt64(&g.Indptr[u+1], 1) }); err != nil {
		return nil, err
	}
	for v := range n {
		g.Indptr[v+1] += g.Indptr[v]
	}
	g.Indices = make([]graph.NodeID, g.Edges())
	next := slices.Clone(g.Indptr[:n])
	if err := overPairs("rows", func(u, v graph.NodeID) { g.Indices[atomic.AddInt64(&next[u], 1)-1] = v }); err != nil {
		return nil, err
	}
	kept := make([]int64, n)
	err := c.Each("sort", parallel.Blocks(n, vertexBlock), func(b int) {
		for v := b * vertexBlock; v < min((b+1)*vertexBlock, n); v++ {
			row := g.Row(v)
			slices.Sort(row)
			kept[v] = int64(len(slices.Compact(row)))
		}
	})
	if err != nil {
		return nil, err
	}
	w := int64(0)
	for v := range n {
		begin := g.Indptr[v]
		g.Indptr[v] = w
		w += int64(copy(g.Indices[w:], g.Indices[begin:begin+kept[v]]))
	}
	g.Indptr[n] = w
	g.Indices = g.Indices[:w]
	return g, nil
}

// thin drops entries of g, in place and evenly over all of them, until at most `keep` are left.
func thin(g *graph.CSR, keep int64) {
	total := g.Edges()
	if total <= keep {
		return
	}
	w, i := int64(0), int64(0)
	for v := range g.Rows() {
		end := g.Indptr[v+1]
		for ; i < end; i++ {
			if (i+1)*keep/total > i*keep/total {
				g.Indices[w] = g.Indices[i]
				w++
			}
		}
		g.Indptr[v+1] = w
	}
	g.Indices = g.Indices[:w]
}

// mirror returns the symmetric graph of an upper half: entries below the diagonal arrive in ascending order, those above
// follow them.
func mirror(half *graph.CSR) *graph.CSR {
	n := half.Rows()
	g := &graph.CSR{Indptr: make([]int64, n+1), Indices: make([]graph.NodeID, 2*half.Edges()), Cols: n}
	for _, v := range half.Indices {
		g.Indptr[v+1]++
	}
	for v := range n {
		g.Indptr[v+1] += g.Indptr[v] + int64(len(half.Row(v)))
	}
	next := slices.Clone(g.Indptr[:n])
	for u := range n {
		for _, v := range half.Row(u) {
			g.Indices[next[v]] = graph.NodeID(u)
			next[v]++
		}
	}
	for u := range n {
		copy(g.Indices[next[u]:g.Indptr[u+1]], half.Row(u))
	}
	return g
}
