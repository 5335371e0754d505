package sample

import (
	"slices"

	"capgnn/graph"
)

// loops finds stored loops. It remembers two bits per vertex: whether its row was searched, and whether it holds a loop; so a graph
// is never read as a whole.
type loops struct {
	graph *graph.CSR
	known []uint64
}

const (
	searched = 1
	looped   = 2
)

func newLoops(g *graph.CSR) *loops {
	return &loops{graph: g, known: make([]uint64, (g.Rows()+31)/32)}
}

// at returns the position of v in its own row, -1 where it is not there.
func (l *loops) at(v graph.NodeID) int {
	word, shift := &l.known[v/32], uint(v%32)*2
	if *word>>shift&(searched|looped) == searched {
		return -1
	}
	k, has := slices.BinarySearch(l.graph.Row(int(v)), v)
	*word |= searched << shift
	if !has {
		return -1
	}
	*word |= looped << shift
	return k
}
