package jaca

import (
	"slices"

	"capgnn/graph"
)

// Overlap returns R(v), the number of parts whose halo contains v in this exchange, for the vertices that some part reads,
// by ascending id. Source: Eq. 2 of the paper.
func Overlap(x *Exchange) (ids []graph.NodeID, r []int32) {
	ix := newIndex(x)
	r = make([]int32, len(ix.ids))
	for k := range r {
		r[k] = int32(ix.readers(k))
	}
	return ix.ids, r
}

// index is the transpose of an exchange: its distinct vertices, called rows here, and the readers of each.
type index struct {
	ids   []graph.NodeID // ascending
	owner []int32        // by row
	edges []int64        // into all readers' parts, by row
	at    []int32        // row k is read at places at[k] to at[k+1] of part and halo, by ascending part
	part  []int32
	halo  []int32   // halo index in that part
	rowOf [][]int32 // by part and halo index; -1 = not exchanged
}

func (ix *index) readers(row int) int { return int(ix.at[row+1] - ix.at[row]) }

// newIndex takes a table over vertex ids, then one pass over the halos to count and one to fill.
func newIndex(x *Exchange) *index {
	top := graph.NodeID(-1)
	for i := range x.Halos {
		for _, v := range x.Halos[i].IDs {
			top = max(top, v)
		}
	}
	row := make([]int32, top+1) // readers of a vertex first, then its row
	for i := range x.Halos {
		h := &x.Halos[i]
		h.each(func(_, k int) { row[h.IDs[k]]++ })
	}
	ix := &index{at: []int32{0}}
	for v, n := range row {
		if row[v] = -1; n > 0 {
			row[v] = int32(len(ix.ids))
			ix.ids = append(ix.ids, graph.NodeID(v))
			ix.at = append(ix.at, ix.at[len(ix.at)-1]+n)
		}
	}
	ix.owner, ix.edges = make([]int32, len(ix.ids)), make([]int64, len(ix.ids))
	total := ix.at[len(ix.ids)]
	ix.part, ix.halo = make([]int32, total), make([]int32, total)
	next := slices.Clone(ix.at)
	for i := range x.Halos {
		h := &x.Halos[i]
		of := slices.Repeat([]int32{-1}, len(h.IDs))
		h.each(func(owner, k int) {
			r := row[h.IDs[k]]
			of[k], ix.owner[r] = r, h.Owners.Parts[owner]
			ix.edges[r] += int64(h.Edges[k])
			ix.part[next[r]], ix.halo[next[r]] = int32(i), int32(k)
			next[r]++
		})
		ix.rowOf = append(ix.rowOf, of)
	}
	return ix
}

// haloIn returns the halo index of a row in a part that reads it.
func (ix *index) haloIn(row int32, part int) int32 {
	for k := ix.at[row]; ; k++ {
		if int(ix.part[k]) == part {
			return ix.halo[k]
		}
	}
}
