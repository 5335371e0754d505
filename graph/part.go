package graph

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Cut is a graph cut into parts, each vertex inner in exactly one.
type Cut struct {
	Parts     []*Part
	PartOf    []int32 // part of every vertex
	LocalOf   []int32 // local inner index of every vertex in its part
	Layers    int
	Symmetric bool // every edge has its reverse: In.Inner and Out.Inner of a part are one CSR
}

// Part is one device's share of a graph, in local numbering.
//
// Inner vertices are ordered by level, highest first, so the rows that layer ℓ computes are the first Rows[ℓ+1] of them
// and those that it reads the first Rows[ℓ]; within a level central vertices (no remote neighbour in either direction)
// come first, then marginal ones grouped by the parts that they touch; ties by rank, then id.
type Part struct {
	Inner   []NodeID // original id of every inner vertex
	Rows    []int    // Rows[k], 0 ≤ k ≤ layers: inner vertices of level ≥ k
	Central []Range  // central vertices, one range per level that has any, ascending
	In      Block    // A: row v lists in-neighbours; what forward passes read
	Out     Block    // Aᵀ: row u lists the vertices that read u; what backward passes read
}

// Range is the half-open interval [Lo, Hi).
type Range struct{ Lo, Hi int }

// Block is one direction of a part's adjacency: rows are the inner vertices, columns inner vertices (Inner) or halo
// vertices (Halo). Entries of Inner rows ascend in local id, which is descending in level.
type Block struct {
	Inner *CSR
	Halo  HaloRows
	// IDs are the halo vertices, grouped by owner; within an owner by level, highest first, then by the owner's local
	// index. The level is that of the exchange: see Levels.
	IDs []NodeID
	// Owner[p] to Owner[p+1] is the range of IDs owned by part p.
	Owner []int
	// Levels[k] per halo vertex: layer ℓ exchanges it if its level is ≥ ℓ+1. In: the highest level of a local row that
	// reads it. Out: its own level.
	Levels []Level
}

// HaloRows is the halo part of a block: only rows with an entry are stored. Entries of a row descend in exchange level,
// then ascend in halo index.
type HaloRows struct {
	List    []int32 // rows, ascending
	Indptr  []int64 // len(List)+1
	Indices []int32 // index into Block.IDs
}

// Count returns how many of owner's halo vertices layer ℓ exchanges: they are the first ones of its range.
func (b *Block) Count(owner, layer int) int {
	r := b.Levels[b.Owner[owner]:b.Owner[owner+1]]
	return sort.Search(len(r), func(i int) bool { return int(r[i]) < layer+1 })
}

// Exchanged returns the number of halo rows that layer ℓ exchanges, over all owners.
func (b *Block) Exchanged(layer int) int {
	n := 0
	for p := range len(b.Owner) - 1 {
		n += b.Count(p, layer)
	}
	return n
}

// Split cuts g by part (one entry per vertex, in [0, parts)) for a network with these needed levels (Needed, AllNeeded).
// rank, if not nil, is a preferred order of the vertices inside a part (a permutation, for locality); it changes where rows
// lie and in which order sums run, nothing else.
//
// Method: one pass over the rows and one over the transposed rows of each part, halos found with a vertex-indexed table.
// Cost O(edges + vertices log vertices). Source: §2.2 of the paper; H' and levels are ours (DESIGN.md 2, 3).
func Split(g *CSR, part []int32, parts int, level []Level, layers int, rank []int32) (*Cut, error) {
	n := g.Rows()
	if g.Cols != n || len(part) != n || len(level) != n || rank != nil && len(rank) != n {
		return nil, fmt.Errorf("split a %d×%d graph: %d part entries, %d levels, %d ranks", n, g.Cols, len(part), len(level), len(rank))
	}
	c := &Cut{PartOf: part, LocalOf: make([]int32, n), Layers: layers}
	t := g.Transpose()
	c.Symmetric = g.Equal(t)
	if c.Symmetric {
		t = g
	}
	members := make([][]NodeID, parts)
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return nil, fmt.Errorf("vertex %d: part %d is outside [0, %d)", v, p, parts)
		}
		members[p] = append(members[p], NodeID(v))
	}
	touched := touchedParts(g, t, part)
	for _, inner := range members {
		p := &Part{Inner: inner, Rows: make([]int, layers+1)}
		p.order(level, touched, rank)
		for i, v := range p.Inner {
			c.LocalOf[v] = int32(i)
		}
		c.Parts = append(c.Parts, p)
	}
	table := make([]int32, n)
	for i := range table {
		table[i] = -1
	}
	reader := make([]Level, n)
	for i, p := range c.Parts {
		readerLevels(reader, g, p.Inner, level)
		p.In = c.block(g, i, nil, table, reader)
		var share *CSR
		if c.Symmetric {
			share = p.In.Inner
		}
		p.Out = c.block(t, i, share, table, level)
	}
	return c, nil
}

// touchedParts returns the set of other parts that each vertex has an edge with, modulo 64; 0 for central vertices.
func touchedParts(g, t *CSR, part []int32) []uint64 {
	set := make([]uint64, len(part))
	for v := range set {
		for _, row := range [][]NodeID{g.Row(v), t.Row(v)} {
			for _, u := range row {
				if part[u] != part[v] {
					set[v] |= 1 << (uint(part[u]) % 64)
				}
			}
		}
	}
	return set
}

// order sorts the inner vertices and fills Rows and Central.
func (p *Part) order(level []Level, touched []uint64, rank []int32) {
	slices.SortFunc(p.Inner, func(a, b NodeID) int {
		c := cmp.Or(cmp.Compare(level[b], level[a]), cmp.Compare(touched[a], touched[b]))
		if c == 0 && rank != nil {
			c = cmp.Compare(rank[a], rank[b])
		}
		return cmp.Or(c, cmp.Compare(a, b))
	})
	for k := range p.Rows {
		p.Rows[k] = sort.Search(len(p.Inner), func(i int) bool { return int(level[p.Inner[i]]) < k })
	}
	for lo := 0; lo < len(p.Inner); {
		hi := lo
		for hi < len(p.Inner) && level[p.Inner[hi]] == level[p.Inner[lo]] {
			hi++
		}
		mid := lo
		for mid < hi && touched[p.Inner[mid]] == 0 {
			mid++
		}
		if mid > lo {
			p.Central = append(p.Central, Range{lo, mid})
		}
		lo = hi
	}
}

// readerLevels sets reader[u] to the highest level of the given rows that read u; other entries are left alone.
func readerLevels(reader []Level, g *CSR, rows []NodeID, level []Level) {
	for _, v := range rows {
		for _, u := range g.Row(int(v)) {
			reader[u] = -1
		}
	}
	for _, v := range rows {
		for _, u := range g.Row(int(v)) {
			reader[u] = max(reader[u], level[v])
		}
	}
}

// block builds one direction of part i from the rows of a. share, if given, is used as Inner. table holds -1 everywhere,
// before and after. level is the exchange level of every halo vertex.
func (c *Cut) block(a *CSR, i int, share *CSR, table []int32, level []Level) Block {
	p := c.Parts[i]
	var ids []NodeID
	for _, v := range p.Inner {
		for _, u := range a.Row(int(v)) {
			if int(c.PartOf[u]) != i && table[u] < 0 {
				table[u] = 0
				ids = append(ids, u)
			}
		}
	}
	b := Block{IDs: ids, Owner: make([]int, len(c.Parts)+1), Levels: make([]Level, len(ids))}
	slices.SortFunc(ids, func(x, y NodeID) int {
		return cmp.Or(cmp.Compare(c.PartOf[x], c.PartOf[y]), cmp.Compare(level[y], level[x]), cmp.Compare(c.LocalOf[x], c.LocalOf[y]))
	})
	for k, u := range ids {
		table[u] = int32(k)
		b.Levels[k] = level[u]
		b.Owner[c.PartOf[u]+1]++
	}
	for q := range c.Parts {
		b.Owner[q+1] += b.Owner[q]
	}
	b.Inner = share
	if share == nil {
		b.Inner = c.innerRows(a, i)
	}
	b.Halo = c.haloRows(a, i, table, b.Levels)
	for _, u := range ids {
		table[u] = -1
	}
	return b
}

func (c *Cut) innerRows(a *CSR, i int) *CSR {
	p := c.Parts[i]
	g := &CSR{Indptr: make([]int64, 1, len(p.Inner)+1), Cols: len(p.Inner)}
	for _, v := range p.Inner {
		lo := len(g.Indices)
		for _, u := range a.Row(int(v)) {
			if int(c.PartOf[u]) == i {
				g.Indices = append(g.Indices, c.LocalOf[u])
			}
		}
		slices.Sort(g.Indices[lo:])
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
	}
	return g
}

func (c *Cut) haloRows(a *CSR, i int, table []int32, level []Level) HaloRows {
	h := HaloRows{Indptr: []int64{0}}
	for r, v := range c.Parts[i].Inner {
		lo := len(h.Indices)
		for _, u := range a.Row(int(v)) {
			if int(c.PartOf[u]) != i {
				h.Indices = append(h.Indices, table[u])
			}
		}
		if row := h.Indices[lo:]; len(row) > 0 {
			slices.SortFunc(row, func(x, y int32) int { return cmp.Or(cmp.Compare(level[y], level[x]), cmp.Compare(x, y)) })
			h.List = append(h.List, int32(r))
			h.Indptr = append(h.Indptr, int64(len(h.Indices)))
		}
	}
	return h
}

// Transpose returns the halo part seen from the halo vertices, restricted to the first rows of the part: a CSR with one
// row per halo vertex whose columns are inner vertices below rows.
func (b *Block) Transpose(rows int) *CSR {
	t := &CSR{Indptr: make([]int64, len(b.IDs)+1), Cols: rows}
	stored := sort.Search(len(b.Halo.List), func(k int) bool { return int(b.Halo.List[k]) >= rows })
	entries := b.Halo.Indices[:b.Halo.Indptr[stored]]
	for _, h := range entries {
		t.Indptr[h+1]++
	}
	for h := range b.IDs {
		t.Indptr[h+1] += t.Indptr[h]
	}
	t.Indices = make([]NodeID, len(entries))
	next := slices.Clone(t.Indptr[:len(b.IDs)])
	for k := range stored {
		for _, h := range b.Halo.Indices[b.Halo.Indptr[k]:b.Halo.Indptr[k+1]] {
			t.Indices[next[h]] = NodeID(b.Halo.List[k])
			next[h]++
		}
	}
	return t
}
