package graph

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Pruning is the halo vertices that parts drop: for a part i and a vertex u of another part, the edges from u into
// the inner vertices of i. nil means none.
type Pruning struct {
	part []int32
	from []int32 // the parts that do without u are without[from[u]:from[u+1]]
	// without lists parts, ascending for every vertex.
	without []int32
}

// NewPruning returns the pruning in which part i drops the vertices dropped[i], which ascend and belong to other
// parts; nil if there are none. Dropping a vertex that part i does not read has no effect.
func NewPruning(part []int32, parts int, dropped [][]NodeID) (*Pruning, error) {
	total := 0
	for _, ids := range dropped {
		total += len(ids)
	}
	if total == 0 {
		return nil, nil
	}
	if len(dropped) != parts {
		return nil, fmt.Errorf("dropped replicas of %d parts, there are %d", len(dropped), parts)
	}
	p := &Pruning{part: part, from: make([]int32, len(part)+1), without: make([]int32, total)}
	for i, ids := range dropped {
		for k, u := range ids {
			switch {
			case u < 0 || int(u) >= len(part):
				return nil, fmt.Errorf("part %d drops vertex %d, there are %d", i, u, len(part))
			case k > 0 && u <= ids[k-1]:
				return nil, fmt.Errorf("part %d drops vertex %d behind %d: they must ascend", i, u, ids[k-1])
			case int(part[u]) == i:
				return nil, fmt.Errorf("part %d drops vertex %d, which is its own", i, u)
			}
			p.from[u+1]++
		}
	}
	for u := range part {
		p.from[u+1] += p.from[u]
	}
	next := slices.Clone(p.from[:len(part)])
	for i, ids := range dropped {
		for _, u := range ids {
			p.without[next[u]] = int32(i)
			next[u]++
		}
	}
	return p, nil
}

// Drops reports whether the edge u → v is left out.
func (p *Pruning) Drops(u, v NodeID) bool { return p.lacks(u, p.part[v]) }

// Lost returns how many in-edges of every vertex p leaves out; nil if p is nil.
func (p *Pruning) Lost(g *CSR) []int32 {
	if p == nil {
		return nil
	}
	lost := make([]int32, g.Rows())
	EachBlock(len(lost), rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			for _, u := range g.Row(v) {
				if p.Drops(u, NodeID(v)) {
					lost[v]++
				}
			}
		}
	})
	return lost
}

// lacks reports whether part i does without u.
func (p *Pruning) lacks(u NodeID, i int32) bool {
	return slices.Contains(p.without[p.from[u]:p.from[u+1]], i)
}

// Without returns c after pruning: with the same numbering, levels and inner rows, which are shared, but without the
// dropped edges in both directions and without halo vertices that have no edge left. It returns c if p is nil.
// Central also counts rows that lost their last neighbour in another part and come first in their level, where Split
// puts them. Degrees stay those of the whole graph (docs/mathematics.md, docs/adr/0009-pruned-runs-hold-two-cuts.md).
//
// Cost: two passes over the halo entries, in blocks on all processors.
func (c *Cut) Without(p *Pruning) *Cut {
	if p == nil {
		return c
	}
	kept := *c
	kept.Parts = nil
	for i, q := range c.Parts {
		k := &Part{Inner: q.Inner, Rows: q.Rows}
		if !c.Own.Has(i) {
			k.In, k.Out = q.In.left(), q.Out.left()
			kept.Parts = append(kept.Parts, k)
			continue
		}
		k.In = q.In.without(func(_, h int32) bool { return p.lacks(q.In.IDs[h], int32(i)) })
		k.Out = q.Out.without(func(r, h int32) bool { return p.Drops(q.Inner[r], q.Out.IDs[h]) })
		k.Central = k.central()
		kept.Parts = append(kept.Parts, k)
	}
	return &kept
}

// left is without for a block whose edges are counted, not kept.
func (b *Block) left() Block {
	out := Block{Edges: b.Left}
	if place := out.keepHalo(b, b.Left); len(out.IDs) < len(b.IDs) {
		out.Edges = make([]int32, len(out.IDs))
		for h, n := range b.Left {
			if n > 0 {
				out.Edges[place[h]] = n
			}
		}
	}
	return out
}

// without returns b without the halo entries (row, halo index) that drops holds for; b's own arrays if there are none.
func (b *Block) without(drops func(row, h int32) bool) Block {
	src := &b.Halo
	count, used := make([]int64, len(src.List)), make([]int32, len(b.IDs))
	EachBlock(len(src.List), rowBlock, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			for _, h := range src.Indices[src.Indptr[k]:src.Indptr[k+1]] {
				if !drops(src.List[k], h) {
					count[k]++
					atomic.StoreInt32(&used[h], 1)
				}
			}
		}
	})
	if sum(count) == int64(len(src.Indices)) {
		return *b
	}
	out := Block{Inner: b.Inner}
	place := out.keepHalo(b, used)
	out.Halo.Indptr = []int64{0}
	var from []int // stored row of src of every stored row
	for k, n := range count {
		if n > 0 {
			from = append(from, k)
			out.Halo.List = append(out.Halo.List, src.List[k])
			out.Halo.Indptr = append(out.Halo.Indptr, n)
		}
	}
	accumulate(out.Halo.Indptr)
	out.Halo.Indices = make([]int32, out.Halo.Indptr[len(from)])
	EachBlock(len(from), rowBlock, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			at := out.Halo.Indptr[k]
			for _, h := range src.Indices[src.Indptr[from[k]]:src.Indptr[from[k]+1]] {
				if !drops(out.Halo.List[k], h) {
					out.Halo.Indices[at] = place[h]
					at++
				}
			}
		}
	})
	return out
}

func sum(x []int64) int64 {
	n := int64(0)
	for _, k := range x {
		n += k
	}
	return n
}

// keepHalo fills in the halo vertices of b that are used and returns their new indices by the old ones. Their order, and so
// that of the entries of a row, stays.
func (out *Block) keepHalo(b *Block, used []int32) (place []int32) {
	place = make([]int32, len(b.IDs))
	out.Owners, out.Levels = Owners{At: []int{0}}, []Level{}
	for k, q := range b.Owners.Parts {
		for h := b.Owners.At[k]; h < b.Owners.At[k+1]; h++ {
			if used[h] != 0 {
				place[h] = int32(len(out.IDs))
				out.IDs, out.Levels = append(out.IDs, b.IDs[h]), append(out.Levels, b.Levels[h])
			}
		}
		out.Owners.Append(int(q), len(out.IDs))
	}
	return place
}

// central returns, for every level, the rows that stand first in it and have no halo entry in either direction.
func (p *Part) central() []Range {
	marginal := make([]bool, len(p.Inner))
	for _, b := range []*Block{&p.In, &p.Out} {
		for _, r := range b.Halo.List {
			marginal[r] = true
		}
	}
	var out []Range
	end := func(lo, hi int) int {
		mid := lo
		for mid < hi && !marginal[mid] {
			mid++
		}
		if mid > lo {
			out = append(out, Range{lo, mid})
		}
		return hi
	}
	lo := 0
	for k := len(p.Rows) - 1; k >= 0; k-- {
		lo = end(lo, p.Rows[k])
	}
	end(lo, len(p.Inner))
	return out
}
