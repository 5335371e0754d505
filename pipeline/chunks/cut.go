package chunks

import (
	"errors"
	"fmt"

	"capgnn/graph"
)

// Cut says in which chunk every vertex of a graph is.
type Cut struct {
	Of      []int32          // chunk of every vertex
	Place   []int32          // its index in Members of it
	Members [][]graph.NodeID // vertices of every chunk, ascending; no chunk is empty
}

// New returns the cut in which vertex v is in chunk of[v], which it keeps. It fails where there are fewer than two chunks or more than vertices,
// and where a chunk is empty or a number is none of theirs.
func New(of []int32, chunks int) (*Cut, error) {
	if err := Check(chunks, len(of)); err != nil {
		return nil, err
	}
	size := make([]int, chunks)
	for v, k := range of {
		if k < 0 || int(k) >= chunks {
			return nil, fmt.Errorf("vertex %d is in chunk %d, which is not in [0, %d)", v, k, chunks)
		}
		size[k]++
	}
	c := &Cut{Of: of, Place: make([]int32, len(of)), Members: make([][]graph.NodeID, chunks)}
	for k, n := range size {
		if n == 0 {
			return nil, fmt.Errorf("chunk %d has no vertex", k)
		}
		c.Members[k] = make([]graph.NodeID, 0, n)
	}
	for v, k := range of {
		c.Place[v] = int32(len(c.Members[k]))
		c.Members[k] = append(c.Members[k], graph.NodeID(v))
	}
	return c, nil
}

// Check says why a graph of n vertices cannot be cut into so many chunks, nil if it can.
func Check(chunks, n int) error {
	switch {
	case chunks < 2:
		return fmt.Errorf("%d chunks: isolated parts hold two at a time, so there are at least 2", chunks)
	case n == 0:
		return errors.New("the graph has no vertices")
	case chunks > n:
		return fmt.Errorf("%d chunks are more than the graph's %d vertices: use at most %d", chunks, n, n)
	}
	return nil
}

// Between returns how many edges lead into each chunk from each, loops too.
func (c *Cut) Between(g *graph.CSR) [][]int64 {
	all := make([][]int64, c.Chunks())
	graph.EachBlock(len(all), 1, func(k, _ int) {
		all[k] = make([]int64, len(all))
		for _, v := range c.Members[k] {
			for _, u := range g.Row(int(v)) {
				all[k][c.Of[u]]++
			}
		}
	})
	return all
}

// Chunks returns their number.
func (c *Cut) Chunks() int { return len(c.Members) }
