package rapa

import (
	"slices"

	"capgnn/graph"
)

// placement is a partition whose counts are kept while vertices change parts.
//
// Why: a table of how many neighbours every vertex has in every part makes a move cost the degree of the vertex, and what
// it changes in the counts exact. It takes 4 bytes per vertex and part, twice that where the graph is not symmetric.
type placement struct {
	d       Directions
	parts   int
	part    []int32
	readers []int32 // [v·parts+p]: vertices of part p that read v
	read    []int32 // [v·parts+p]: vertices of part p that v reads; readers itself where the graph is symmetric
	counts  []Counts
}

func newPlacement(d Directions, part []int32, parts int) *placement {
	p := &placement{d: d, parts: parts, part: slices.Clone(part), counts: make([]Counts, parts)}
	p.readers = p.table(d.Out)
	p.read = p.readers
	if !d.symmetric() {
		p.read = p.table(d.In)
	}
	for v := range part {
		tally(p.counts, part[v], p.readersOf(graph.NodeID(v)))
	}
	return p
}

// clone returns a copy; the graph is shared.
func (p *placement) clone() *placement {
	c := *p
	c.part, c.counts = slices.Clone(p.part), slices.Clone(p.counts)
	c.readers = slices.Clone(p.readers)
	if c.read = c.readers; !p.d.symmetric() {
		c.read = slices.Clone(p.read)
	}
	return &c
}

func (p *placement) table(g *graph.CSR) []int32 {
	t := make([]int32, len(p.part)*p.parts)
	graph.EachBlock(len(p.part), spreadBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			spread(g.Row(v), graph.NodeID(v), p.part, t[v*p.parts:(v+1)*p.parts])
		}
	})
	return t
}

func (p *placement) readersOf(v graph.NodeID) []int32 {
	return p.readers[int(v)*p.parts : (int(v)+1)*p.parts]
}

func (p *placement) readOf(v graph.NodeID) []int32 {
	return p.read[int(v)*p.parts : (int(v)+1)*p.parts]
}

// ties are the neighbours of a vertex in numbers.
type ties struct {
	edges int64 // vertices that it reads
	parts int64 // parts in which some vertex reads it
}

func (p *placement) tiesOf(v graph.NodeID) ties {
	var t ties
	readers := p.readersOf(v)
	for q, k := range p.readOf(v) {
		t.edges += int64(k)
		t.parts += sign(readers[q])
	}
	return t
}

// leave returns what v takes from the counts of its part when it leaves, but for the halo rows of its neighbours; join
// what it adds to those of part to, with the same exception. Both cost O(1).
func (p *placement) leave(v graph.NodeID, t ties) Counts {
	a := p.part[v]
	readers, read := int64(p.readersOf(v)[a]), int64(p.readOf(v)[a])
	here := sign(p.readersOf(v)[a])
	return Counts{Inner: -1, Edges: -t.edges, Outer: read + readers - t.edges, Halo: here, Sent: here - t.parts}
}

func (p *placement) join(v graph.NodeID, to int32, t ties) Counts {
	readers, read := int64(p.readersOf(v)[to]), int64(p.readOf(v)[to])
	there := sign(p.readersOf(v)[to])
	return Counts{Inner: 1, Edges: t.edges, Outer: t.edges - read - readers, Halo: -there, Sent: t.parts - there}
}

func sign(k int32) int64 {
	if k > 0 {
		return 1
	}
	return 0
}

// change sets delta, which has an entry per part, to what moving v to another part adds to every part's counts. Cost: the
// number of vertices that v reads.
func (p *placement) change(v graph.NodeID, to int32, delta []Counts) {
	clear(delta)
	a := p.part[v]
	t := p.tiesOf(v)
	delta[a], delta[to] = p.leave(v, t), p.join(v, to, t)
	for _, u := range p.d.In.Row(int(v)) {
		if u == v {
			continue
		}
		readers, owner := p.readersOf(u), p.part[u]
		if readers[a] == 1 && owner != a {
			delta[a].Halo--
			delta[owner].Sent--
		}
		if readers[to] == 0 && owner != to {
			delta[to].Halo++
			delta[owner].Sent++
		}
	}
}

// move puts v into another part; delta is what change said.
func (p *placement) move(v graph.NodeID, to int32, delta []Counts) {
	a := p.part[v]
	for q := range delta {
		p.counts[q] = p.counts[q].Add(delta[q])
	}
	shift := func(g *graph.CSR, table []int32) {
		for _, w := range g.Row(int(v)) {
			if w != v {
				table[int(w)*p.parts+int(a)]--
				table[int(w)*p.parts+int(to)]++
			}
		}
	}
	shift(p.d.In, p.readers)
	if !p.d.symmetric() {
		shift(p.d.Out, p.read)
	}
	p.part[v] = to
}

// gain returns by how many edges the cut falls if v moves, each direction counted.
func (p *placement) gain(v graph.NodeID, to int32) int64 {
	readers, read, a := p.readersOf(v), p.readOf(v), p.part[v]
	return int64(readers[to]) + int64(read[to]) - int64(readers[a]) - int64(read[a])
}
