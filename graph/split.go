package graph

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Split cuts g by part (one entry per vertex, in [0, parts)) for a network with these needed levels (Needed, AllNeeded).
// rank, if not nil, is a preferred order of the vertices inside a part (a permutation, for locality); it changes where rows
// lie and in which order sums run, nothing else. part becomes the cut's PartOf.
//
// Method: the rows, and where g is not symmetric those of its transpose, in blocks on all processors; halos found with a
// vertex-indexed table. Cost O(edges · log(degree) + vertices); beside the result, memory for a few numbers per vertex and,
// where g is not symmetric, its transpose. Source: §2.2 of the paper; H' and levels are ours (docs/mathematics.md).
//
// loops says what happens to g's self-loops, without a copy of g. p, if not nil, is the pruning that Cut.Without will
// apply: the cut keeps every edge, but rows that lose their last neighbour in another part by pruning come first in
// their level.
func Split(g *CSR, loops Loops, part []int32, parts int, level []Level, layers int, rank []int32, p *Pruning) (*Cut, error) {
	return SplitRange(g, loops, part, parts, Range{0, parts}, level, layers, rank, p)
}

// SplitRange is Split for a process that has the parts of a range: of other parts the cut has only what is needed to
// plan exchanges, and no edges. Such a cut can be pruned by p only.
func SplitRange(g *CSR, loops Loops, part []int32, parts int, own Range, level []Level, layers int, rank []int32, p *Pruning) (*Cut, error) {
	n := g.Rows()
	if g.Cols != n || len(part) != n || len(level) != n || rank != nil && len(rank) != n {
		return nil, fmt.Errorf("split a %d×%d graph: %d part entries, %d levels, %d ranks", n, g.Cols, len(part), len(level), len(rank))
	}
	if own.Lo < 0 || own.Hi < own.Lo || own.Hi > parts {
		return nil, fmt.Errorf("split into %d parts for those from %d to %d", parts, own.Lo, own.Hi)
	}
	c := &Cut{Own: own, PartOf: part, LocalOf: make([]int32, n), Layers: layers, Symmetric: g.Symmetric()}
	t := g
	if !c.Symmetric {
		t = g.Transpose()
	}
	c.degrees(g, t, loops)
	var touched [][]uint64
	if parts > 1 && p != nil {
		touched = append(touched, touchedParts(g, t, part, p))
	}
	if parts > 1 {
		touched = append(touched, touchedParts(g, t, part, nil))
	}
	if err := c.arrange(parts, level, touched, rank); err != nil {
		return nil, err
	}
	b := newBlockBuilder(c, loops, p)
	for i := range c.Parts {
		b.both(&Rows{CSR: g}, &Rows{CSR: t}, i, level)
	}
	return c, nil
}

// arrange makes the parts, with their inner vertices in order, and fills LocalOf.
func (c *Cut) arrange(parts int, level []Level, touched [][]uint64, rank []int32) error {
	members, err := membersOf(c.PartOf, parts, rank)
	if err != nil {
		return err
	}
	for i, inner := range members {
		p := &Part{Inner: inner, Rows: make([]int, c.Layers+1)}
		p.order(level, touched)
		if !c.Own.Has(i) {
			p.Central = nil
		}
		for i, v := range p.Inner {
			c.LocalOf[v] = int32(i)
		}
		c.Parts = append(c.Parts, p)
	}
	return nil
}

// membersOf returns the vertices of each part by rank, or by id where rank is nil.
func membersOf(part []int32, parts int, rank []int32) ([][]NodeID, error) {
	n := len(part)
	end := make([]int, parts+1) // of part p at p+1, as far as it is filled at p
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return nil, fmt.Errorf("vertex %d: part %d is outside [0, %d)", v, p, parts)
		}
		end[p+1]++
	}
	for p := range parts {
		end[p+1] += end[p]
	}
	order, err := inverse(rank)
	if err != nil {
		return nil, err
	}
	all, members := make([]NodeID, n), make([][]NodeID, parts)
	for p := range members {
		members[p] = all[end[p]:end[p+1]:end[p+1]]
	}
	at := slices.Clone(end[:parts])
	for i := range n {
		v := NodeID(i)
		if order != nil {
			v = order[i]
		}
		all[at[part[v]]] = v
		at[part[v]]++
	}
	return members, nil
}

// inverse returns the vertex at every place of a rank, nil for nil.
func inverse(rank []int32) ([]NodeID, error) {
	if rank == nil {
		return nil, nil
	}
	order := make([]NodeID, len(rank))
	for i := range order {
		order[i] = -1
	}
	for v, r := range rank {
		if r < 0 || int(r) >= len(rank) || order[r] >= 0 {
			return nil, fmt.Errorf("vertex %d: rank %d is outside [0, %d) or another vertex's", v, r, len(rank))
		}
		order[r] = NodeID(v)
	}
	return order, nil
}

// degrees fills InDegree and OutDegree.
func (c *Cut) degrees(g, t *CSR, loops Loops) {
	count := func(g *CSR) []int32 {
		d := make([]int32, g.Rows())
		EachBlock(len(d), rowBlock, func(lo, hi int) {
			for v := lo; v < hi; v++ {
				d[v] = int32(len(g.Row(v)) + loops.change(v, g.Row(v)))
			}
		})
		return d
	}
	c.InDegree = count(g)
	c.OutDegree = c.InDegree
	if !c.Symmetric {
		c.OutDegree = count(t)
	}
}

// touchedParts returns the set of other parts that each vertex has an edge with that pruning leaves, modulo 64; 0 for central
// vertices.
func touchedParts(g, t *CSR, part []int32, p *Pruning) []uint64 {
	graphs := []*CSR{g, t}
	if g == t {
		graphs = graphs[:1]
	}
	// gone reports whether the edges are dropped that row v of a shows an entry u for: two in a symmetric graph.
	gone := func(a *CSR, v, u NodeID) bool {
		switch {
		case p == nil:
			return false
		case g == t:
			return p.Drops(u, v) && p.Drops(v, u)
		case a == g:
			return p.Drops(u, v)
		}
		return p.Drops(v, u)
	}
	set := make([]uint64, len(part))
	EachBlock(len(set), rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			for _, a := range graphs {
				for _, u := range a.Row(v) {
					if part[u] != part[v] && !gone(a, NodeID(v), u) {
						set[v] |= 1 << (uint(part[u]) % 64)
					}
				}
			}
		}
	})
	return set
}

// order sorts the inner vertices, which stand by rank, and fills Rows and Central. touched are sets of other parts by
// vertex, each holding those before it: what is central by the first comes first, among these what is so by the second. The
// last says what is central; without any, all are.
func (p *Part) order(level []Level, touched [][]uint64) {
	byLevel(p.Inner, func(v NodeID) Level { return level[v] })
	for k := range p.Rows {
		p.Rows[k] = sort.Search(len(p.Inner), func(i int) bool { return int(level[p.Inner[i]]) < k })
	}
	for lo := 0; lo < len(p.Inner); {
		of := level[p.Inner[lo]]
		hi := lo + sort.Search(len(p.Inner)-lo, func(i int) bool { return level[p.Inner[lo+i]] < of })
		mid := hi
		for _, set := range touched {
			mid = lo + centralFirst(p.Inner[lo:mid], set)
		}
		if mid > lo {
			p.Central = append(p.Central, Range{lo, mid})
		}
		lo = hi
	}
}

// centralFirst sorts vertices by the parts that they touch, equal ones staying in order, and returns how many touch none.
func centralFirst(vertices []NodeID, touched []uint64) int {
	marginal := make([]NodeID, 0, len(vertices)/4)
	central := vertices[:0]
	for _, v := range vertices {
		if touched[v] == 0 {
			central = append(central, v)
		} else {
			marginal = append(marginal, v)
		}
	}
	slices.SortStableFunc(marginal, func(a, b NodeID) int { return cmp.Compare(touched[a], touched[b]) })
	copy(vertices[len(central):], marginal)
	return len(central)
}

// byLevel sorts vertices by descending level; equal ones stay in order.
func byLevel(vertices []NodeID, level func(NodeID) Level) {
	const levels = 1 << 8
	var at [levels + 1]int // at 1+k: where the vertices of place k begin, the place of level 127 being 0
	place := func(v NodeID) int { return 127 - int(level(v)) }
	for _, v := range vertices {
		at[place(v)+1]++
	}
	for k := range levels {
		at[k+1] += at[k]
	}
	for _, v := range slices.Clone(vertices) {
		vertices[at[place(v)]] = v
		at[place(v)]++
	}
}
