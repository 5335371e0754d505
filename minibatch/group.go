package minibatch

import (
	"slices"

	"capgnn/graph"
)

// group is the rows that a part fetches at once: those of a step (what HopGNN calls pre-gathering), or of each of its units. Whoever fills a slot has it.
type group struct {
	asked []bool         // by part: it is asked for rows
	rows  []graph.NodeID // with several units: those that are in it
	in    []uint64       // the same as a set
}

func (g *group) reset(parts int) {
	g.asked = slices.Grow(g.asked[:0], parts)[:parts]
	clear(g.asked)
	for _, v := range g.rows {
		g.in[v/64] = 0
	}
	g.rows = g.rows[:0]
}

// add adds a row, and reports whether it was not there.
func (g *group) add(v graph.NodeID) bool {
	word, bit := int(v/64), uint64(1)<<(v%64)
	if word >= len(g.in) {
		g.in = append(g.in, make([]uint64, word+1-len(g.in))...)
	}
	if g.in[word]&bit != 0 {
		return false
	}
	g.in[word] |= bit
	g.rows = append(g.rows, v)
	return true
}

// ask notes that a part is asked for rows, and reports whether it was not before.
func (g *group) ask(home int32) bool {
	was := g.asked[home]
	g.asked[home] = true
	return !was
}
