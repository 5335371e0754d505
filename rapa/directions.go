package rapa

import (
	"fmt"

	"capgnn/graph"
)

// Directions is a graph seen from both ends of its edges. Loops may be stored; they count nowhere.
type Directions struct {
	In  *graph.CSR // row v lists the vertices that v reads
	Out *graph.CSR // row u lists the vertices that read u; In itself where the graph is symmetric
}

// NewDirections returns g with its transpose, which costs memory only where g is not symmetric.
func NewDirections(g *graph.CSR) Directions {
	if g.Symmetric() {
		return Directions{g, g}
	}
	return Directions{g, g.Transpose()}
}

// symmetric reports whether one CSR stands for both.
func (d Directions) symmetric() bool { return d.In == d.Out }

// check says what is wrong with a partition of d into parts, nil if nothing is.
func (d Directions) check(part []int32, parts int) error {
	n := d.In.Rows()
	if d.In.Cols != n || d.Out.Rows() != n || d.Out.Cols != n {
		return fmt.Errorf("the graph is %d×%d one way and %d×%d the other", n, d.In.Cols, d.Out.Rows(), d.Out.Cols)
	}
	if len(part) != n {
		return fmt.Errorf("%d part entries for %d vertices", len(part), n)
	}
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return fmt.Errorf("vertex %d is in part %d of %d", v, p, parts)
		}
	}
	return nil
}

// spreadBlock is the number of vertices that one goroutine takes at a time.
const spreadBlock = 1 << 12

// spread adds to near[p] the entries of v's row that lie in part p; loops count nowhere.
func spread(row []graph.NodeID, v graph.NodeID, part []int32, near []int32) {
	for _, w := range row {
		if w != v {
			near[part[w]]++
		}
	}
}

// Count returns the counts of every part. Nothing is pruned: what part i reads is the in-neighbours of its vertices.
func Count(d Directions, part []int32, parts int) ([]Counts, error) {
	if err := d.check(part, parts); err != nil {
		return nil, fmt.Errorf("count parts: %w", err)
	}
	n := d.In.Rows()
	block := make([][]Counts, (n+spreadBlock-1)/spreadBlock)
	graph.EachBlock(n, spreadBlock, func(lo, hi int) {
		near, c := make([]int32, parts), make([]Counts, parts)
		for v := lo; v < hi; v++ {
			spread(d.Out.Row(v), graph.NodeID(v), part, near)
			tally(c, part[v], near)
			clear(near)
		}
		block[lo/spreadBlock] = c
	})
	sum := make([]Counts, parts)
	for _, c := range block {
		for p := range sum {
			sum[p] = sum[p].Add(c[p])
		}
	}
	return sum, nil
}

// tally adds a vertex of part own, whose readers in each part are given, to the counts of all parts.
func tally(c []Counts, own int32, readers []int32) {
	c[own].Inner++
	for p, k := range readers {
		if k == 0 {
			continue
		}
		c[p].Edges += int64(k)
		if int32(p) != own {
			c[p].Outer += int64(k)
			c[p].Halo++
			c[own].Sent++
		}
	}
}
