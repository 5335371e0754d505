package graph

import (
	"slices"
	"sort"
)

// Cut is a graph cut into parts, each vertex inner in exactly one.
type Cut struct {
	Parts     []*Part
	Own       Range   // parts that hold their edges; the others are known by their rows and halo vertices: see Part
	PartOf    []int32 // part of every vertex
	LocalOf   []int32 // local inner index of every vertex in its part
	Layers    int
	Symmetric bool // every edge has its reverse: In.Inner and Out.Inner of a part are one CSR
	// InDegree and OutDegree are those of every vertex in the whole graph, loops as wanted; one slice if Symmetric.
	InDegree, OutDegree []int32
}

// Part is one device's share of a graph, in local numbering.
//
// Inner vertices are ordered by level, highest first, so the rows that layer ℓ computes are the first Rows[ℓ+1] of them
// and those that it reads the first Rows[ℓ]; within a level central vertices (no remote neighbour in either direction)
// come first, then marginal ones grouped by the parts that they touch; ties by rank, then id.
//
// A part that its cut does not own belongs to another process. It has only what is needed to plan exchanges: Inner,
// Rows, and of both blocks IDs, Owners, Levels, Edges and Left; no edges and no Central.
type Part struct {
	Inner   []NodeID // original id of every inner vertex
	Rows    []int    // Rows[k], 0 ≤ k ≤ layers: inner vertices of level ≥ k
	Central []Range  // central vertices, one range per level that has any, ascending
	In      Block    // A: row v lists in-neighbours; what forward passes read
	Out     Block    // Aᵀ: row u lists the vertices that read u; what backward passes read
}

// Range is the half-open interval [Lo, Hi).
type Range struct{ Lo, Hi int }

// Has reports whether i is in the interval.
func (r Range) Has(i int) bool { return r.Lo <= i && i < r.Hi }

// Block is one direction of a part's adjacency: rows are the inner vertices, columns inner vertices (Inner) or halo
// vertices (Halo). Entries of Inner rows ascend in local id, which is descending in level.
type Block struct {
	Inner *CSR
	Halo  HaloRows
	// IDs are the halo vertices, grouped by owner; within an owner by level, highest first, then by the owner's local
	// index. The level is that of the exchange: see Levels.
	IDs    []NodeID
	Owners Owners // of IDs
	// Levels[k] per halo vertex: layer ℓ exchanges it if its level is ≥ ℓ+1. In: the highest level of a local row that
	// reads it. Out: its own level.
	Levels []Level
	// Edges counts the edges of each halo vertex, if the cut does not own the part and therefore lacks the edges. Left
	// counts those that pruning leaves; nil in a cut that is not pruned. Both are nil in parts with edges.
	Edges, Left []int32
}

// HaloRows is the halo part of a block: only rows with an entry are stored. Entries of a row descend in exchange level,
// then ascend in halo index.
type HaloRows struct {
	List    []int32 // rows, ascending
	Indptr  []int64 // len(List)+1
	Indices []int32 // index into Block.IDs
}

// HaloEdges returns how many edges each halo vertex has with the part.
func (b *Block) HaloEdges() []int32 {
	if b.Edges != nil {
		return b.Edges
	}
	n := make([]int32, len(b.IDs))
	for _, h := range b.Halo.Indices {
		n[h]++
	}
	return n
}

// Count returns how many halo vertices of the k-th owner layer ℓ exchanges: they are the first ones of its range.
func (b *Block) Count(k, layer int) int {
	r := b.Levels[b.Owners.At[k]:b.Owners.At[k+1]]
	return sort.Search(len(r), func(i int) bool { return int(r[i]) < layer+1 })
}

// Exchanged returns the number of halo rows that layer ℓ exchanges, over all owners.
func (b *Block) Exchanged(layer int) int {
	n := 0
	for k := range b.Owners.Parts {
		n += b.Count(k, layer)
	}
	return n
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
