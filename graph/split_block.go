package graph

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// blockBuilder builds the blocks of a cut whose parts are ordered.
type blockBuilder struct {
	cut     *Cut
	loops   Loops
	pruning *Pruning // what the cut will be pruned by
	mark    []int32  // per vertex, 0 between two blocks; nil with one part
}

// newBlockBuilder returns what builds the blocks of a cut.
func newBlockBuilder(c *Cut, loops Loops, p *Pruning) *blockBuilder {
	b := &blockBuilder{cut: c, loops: loops, pruning: p}
	if len(c.Parts) > 1 {
		b.mark = make([]int32, len(c.PartOf))
	}
	return b
}

// both builds both directions of part i, from the rows of the graph and of its transpose.
func (b *blockBuilder) both(in, out *Rows, i int, level []Level) {
	p := b.cut.Parts[i]
	p.In = b.build(in, i, nil, level, true)
	var share *CSR
	if b.cut.Symmetric {
		share = p.In.Inner
	}
	p.Out = b.build(out, i, share, level, false)
}

// build returns one direction of part i from the rows of a. share, if given, becomes Inner. The exchange level of a halo
// vertex is its own, or the highest of the rows that read it.
func (b *blockBuilder) build(a *Rows, i int, share *CSR, level []Level, ofReader bool) Block {
	out := Block{Owners: Owners{At: []int{0}}, Levels: []Level{}, Inner: share}
	if b.mark != nil {
		b.findHalo(a, i, level, ofReader)
		out.IDs = b.marked(a, i)
		b.listHalo(&out, level, ofReader)
	}
	if b.cut.Own.Has(i) {
		inner, halo := b.count(a, i)
		if share == nil {
			out.Inner = b.innerRows(a, i, inner)
		}
		out.Halo = b.haloRows(a, i, halo, out.Levels)
	} else {
		b.countEdges(&out, a, i, ofReader)
	}
	b.unmark(&out)
	return out
}

// unmark makes the marks 0 again that building a block has left.
func (b *blockBuilder) unmark(out *Block) {
	for _, u := range out.IDs {
		b.mark[u] = 0
	}
}

// findHalo marks the vertices of other parts that rows of part i read: with 2 + the highest level of those rows, or with 1.
func (b *blockBuilder) findHalo(a *Rows, i int, level []Level, ofReader bool) {
	rows := b.cut.Parts[i].Inner
	EachBlock(len(rows), rowBlock, func(lo, hi int) {
		for _, v := range rows[lo:hi] {
			m := int32(1)
			if ofReader {
				m = int32(level[v]) + 2
			}
			for _, k := range a.row(v) {
				if u := a.id(k); int(b.cut.PartOf[u]) != i {
					raise(&b.mark[u], m)
				}
			}
		}
	})
}

// raise sets *p to x if that is more.
func raise(p *int32, x int32) {
	for old := atomic.LoadInt32(p); old < x && !atomic.CompareAndSwapInt32(p, old, x); {
		old = atomic.LoadInt32(p)
	}
}

// listHalo puts IDs, which are marked, in order and fills Owners and Levels from the marks, which become indices into IDs, plus one.
func (b *blockBuilder) listHalo(out *Block, level []Level, ofReader bool) {
	exchange := func(u NodeID) Level {
		if ofReader {
			return Level(b.mark[u] - 2)
		}
		return level[u]
	}
	slices.SortFunc(out.IDs, func(u, v NodeID) int {
		return cmp.Or(cmp.Compare(b.cut.PartOf[u], b.cut.PartOf[v]), cmp.Compare(exchange(v), exchange(u)), cmp.Compare(b.cut.LocalOf[u], b.cut.LocalOf[v]))
	})
	for k, u := range out.IDs {
		if k+1 == len(out.IDs) || b.cut.PartOf[out.IDs[k+1]] != b.cut.PartOf[u] {
			out.Owners.Append(int(b.cut.PartOf[u]), k+1)
		}
	}
	out.Levels = make([]Level, len(out.IDs))
	for k, u := range out.IDs {
		out.Levels[k] = exchange(u)
		b.mark[u] = int32(k) + 1
	}
}

// marked returns the marked vertices, each once, in any order.
func (b *blockBuilder) marked(a *Rows, i int) []NodeID {
	var all []NodeID
	for _, v := range b.cut.Parts[i].Inner {
		for _, k := range a.row(v) {
			u := a.id(k)
			if m := b.mark[u]; m > 0 {
				all = append(all, u)
				b.mark[u] = -m
			}
		}
	}
	for _, u := range all {
		b.mark[u] = -b.mark[u]
	}
	return all
}

// count returns row pointers: where the entries of every row of part i that come from the part begin, and the others.
func (b *blockBuilder) count(a *Rows, i int) (inner, halo []int64) {
	c := b.cut
	rows := c.Parts[i].Inner
	inner = make([]int64, len(rows)+1)
	if b.mark != nil {
		halo = make([]int64, len(rows)+1)
	}
	EachBlock(len(rows), rowBlock, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := a.row(rows[r])
			remote := 0
			if halo != nil {
				for _, k := range row {
					if int(c.PartOf[a.id(k)]) != i {
						remote++
					}
				}
				halo[r+1] = int64(remote)
			}
			inner[r+1] = int64(len(row) - remote + b.loops.change(a.at(rows[r]), row))
		}
	})
	accumulate(inner)
	accumulate(halo)
	return inner, halo
}

// countEdges fills Edges and Left of a part whose edges are not kept; the marks are indices into the block's IDs, plus one.
func (b *blockBuilder) countEdges(out *Block, a *Rows, i int, ofReader bool) {
	out.Edges = make([]int32, len(out.IDs))
	if b.pruning != nil {
		out.Left = make([]int32, len(out.IDs))
	}
	rows := b.cut.Parts[i].Inner
	EachBlock(len(rows), rowBlock, func(lo, hi int) {
		for _, v := range rows[lo:hi] {
			for _, k := range a.row(v) {
				u := a.id(k)
				if int(b.cut.PartOf[u]) == i {
					continue
				}
				atomic.AddInt32(&out.Edges[b.mark[u]-1], 1)
				if b.pruning != nil && !(ofReader && b.pruning.Drops(u, v) || !ofReader && b.pruning.Drops(v, u)) {
					atomic.AddInt32(&out.Left[b.mark[u]-1], 1)
				}
			}
		}
	})
}

// innerRows returns the part's own adjacency, in local numbering.
func (b *blockBuilder) innerRows(a *Rows, i int, indptr []int64) *CSR {
	c := b.cut
	rows := c.Parts[i].Inner
	g := &CSR{Indptr: indptr, Indices: make([]NodeID, indptr[len(rows)]), Cols: len(rows)}
	EachBlock(len(rows), rowBlock, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			dst, k, sorted := g.Row(r), 0, true
			put := func(u NodeID) {
				sorted = sorted && (k == 0 || dst[k-1] < u)
				dst[k] = u
				k++
			}
			v := rows[r]
			loop := b.loops == LoopsAdded
			for _, k := range a.row(v) {
				if u := a.id(k); int(c.PartOf[u]) == i && (u != v || b.loops != LoopsRemoved) {
					put(c.LocalOf[u])
					loop = loop && u != v
				}
			}
			if loop {
				put(NodeID(r))
			}
			if !sorted {
				slices.Sort(dst)
			}
		}
	})
	return g
}

// haloRows returns the entries that come from other parts; the marks are indices into the block's IDs, plus one.
func (b *blockBuilder) haloRows(a *Rows, i int, indptr []int64, level []Level) HaloRows {
	h := HaloRows{Indptr: []int64{0}}
	rows := b.cut.Parts[i].Inner
	if indptr == nil || indptr[len(rows)] == 0 {
		return h
	}
	for r := range rows {
		if indptr[r+1] > indptr[r] {
			h.List = append(h.List, int32(r))
			h.Indptr = append(h.Indptr, indptr[r+1])
		}
	}
	h.Indices = make([]int32, indptr[len(rows)])
	EachBlock(len(h.List), rowBlock, func(lo, hi int) {
		var keys []uint64 // level, descending, and index, ascending
		for k := lo; k < hi; k++ {
			keys = keys[:0]
			for _, e := range a.row(rows[h.List[k]]) {
				if u := a.id(e); int(b.cut.PartOf[u]) != i {
					at := b.mark[u] - 1
					keys = append(keys, uint64(127-int(level[at]))<<32|uint64(at))
				}
			}
			slices.Sort(keys)
			for e, key := range keys {
				h.Indices[h.Indptr[k]+int64(e)] = int32(uint32(key))
			}
		}
	})
	return h
}
