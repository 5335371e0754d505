package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Outline is what every process of a run knows of a cut graph, whether or not it has the edges: enough to plan the
// exchanges between all parts, for networks of any depth.
type Outline struct {
	PartOf    []int32 // part of every vertex
	Symmetric bool    // every edge has its reverse
	// InDegree and OutDegree are those of every vertex, loops as stored; one slice if Symmetric.
	InDegree, OutDegree []int32
	Loops               []bool  // vertices with an edge to themselves
	Hops                []uint8 // how many layers a vertex's rows are below the loss that needs them first: 0 = it is trained on; NoHops = none needs them
	// In and Out are the halo vertices of every part in both directions; one slice if Symmetric.
	In, Out []Fringe
	Weights *WeightSums // nil: edges have no weights
}

// Fringe is the halo vertices of one direction of a part.
type Fringe struct {
	IDs   []NodeID // ascending
	Edges []int32  // how many edges each has with the part
	Hops  []uint8  // in In: the least Hops of the part's vertices that read it; nil in Out of a graph that is not symmetric
}

const (
	// NoHops are the hops of vertices that no network's loss depends on.
	NoHops = 255
	// maxHops is the largest depth of a network that an Outline serves.
	maxHops = 100
)

// OutlineOf returns the outline of a graph cut by part into this many parts, whose loss is over seeds. back returns
// the rows of the graph's transpose for the vertices of a part; nil: the graph is symmetric. Cost: two passes over
// the edges in each direction.
func OutlineOf(g *CSR, back func(part int) *Rows, seeds []bool, part []int32, parts int) *Outline {
	n := g.Rows()
	o := &Outline{PartOf: part, Symmetric: back == nil, InDegree: g.InDegree(), Loops: make([]bool, n), Hops: make([]uint8, n)}
	for v, l := range Needed(g, seeds, maxHops, nil) {
		o.Hops[v] = uint8(maxHops - l)
		if l < 0 {
			o.Hops[v] = NoHops
		}
		_, o.Loops[v] = slices.BinarySearch(g.Row(v), NodeID(v))
	}
	members, err := membersOf(part, parts, nil)
	if err != nil {
		panic("graph: " + err.Error())
	}
	f := fringes{part: part, hops: o.Hops, place: make([]int32, n)}
	for i, inner := range members {
		o.In = append(o.In, f.of(&Rows{CSR: g}, i, inner, true))
		if !o.Symmetric {
			o.Out = append(o.Out, f.of(back(i), i, inner, false))
		}
	}
	if o.OutDegree = o.InDegree; o.Symmetric {
		o.Out = o.In
	} else {
		o.OutDegree = g.OutDegree()
	}
	if g.Weights != nil {
		o.Weights = g.WeightSums()
	}
	return o
}

// fringes finds halo vertices.
type fringes struct {
	part  []int32
	hops  []uint8
	place []int32 // of halo vertices in the fringe that is being made, plus one; else 0
}

// of returns the halo vertices that the rows of part i list, whose columns are vertices.
func (f *fringes) of(g *Rows, i int, inner []NodeID, hops bool) Fringe {
	var out Fringe
	for _, v := range inner {
		for _, u := range g.row(v) {
			if int(f.part[u]) != i && f.place[u] == 0 {
				f.place[u] = 1
				out.IDs = append(out.IDs, u)
			}
		}
	}
	slices.Sort(out.IDs)
	for k, u := range out.IDs {
		f.place[u] = int32(k) + 1
	}
	out.Edges = make([]int32, len(out.IDs))
	if hops {
		out.Hops = slices.Repeat([]uint8{NoHops}, len(out.IDs))
	}
	for _, v := range inner {
		for _, u := range g.row(v) {
			if int(f.part[u]) == i {
				continue
			}
			k := f.place[u] - 1
			out.Edges[k]++
			if hops {
				out.Hops[k] = min(out.Hops[k], f.hops[v])
			}
		}
	}
	for _, u := range out.IDs {
		f.place[u] = 0
	}
	return out
}

// Validate checks an outline that comes from a file; PartOf must be correct. SplitOutline checks whether it agrees
// with the edges.
func (o *Outline) Validate(parts int) error {
	n := len(o.PartOf)
	if len(o.InDegree) != n || len(o.OutDegree) != n || len(o.Loops) != n || len(o.Hops) != n {
		return fmt.Errorf("%d and %d degrees, %d loops and %d hops for %d vertices", len(o.InDegree), len(o.OutDegree), len(o.Loops), len(o.Hops), n)
	}
	for v := range n {
		if o.InDegree[v] < 0 || o.OutDegree[v] < 0 || o.Hops[v] > maxHops && o.Hops[v] != NoHops {
			return fmt.Errorf("vertex %d has %d and %d edges and is %d hops away", v, o.InDegree[v], o.OutDegree[v], o.Hops[v])
		}
	}
	if o.Weights != nil {
		if err := o.Weights.validate(o.Loops); err != nil {
			return err
		}
	}
	for _, side := range [][]Fringe{o.In, o.Out} {
		if len(side) != parts {
			return fmt.Errorf("halo vertices of %d parts, there are %d", len(side), parts)
		}
		for i := range side {
			if err := o.validateFringe(&side[i], i); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		}
	}
	for i := range o.In {
		if len(o.In[i].Hops) != len(o.In[i].IDs) {
			return fmt.Errorf("part %d: %d hops of %d halo vertices", i, len(o.In[i].Hops), len(o.In[i].IDs))
		}
	}
	return nil
}

func (o *Outline) validateFringe(f *Fringe, part int) error {
	if len(f.Edges) != len(f.IDs) {
		return fmt.Errorf("edges of %d halo vertices, there are %d", len(f.Edges), len(f.IDs))
	}
	for k, u := range f.IDs {
		switch {
		case u < 0 || int(u) >= len(o.PartOf) || k > 0 && u <= f.IDs[k-1] || int(o.PartOf[u]) == part:
			return fmt.Errorf("halo vertex %d is out of range or of order, or the part's own", u)
		case f.Edges[k] < 1:
			return fmt.Errorf("halo vertex %d has %d edges", u, f.Edges[k])
		case f.Hops != nil && f.Hops[k] > maxHops && f.Hops[k] != NoHops:
			return fmt.Errorf("halo vertex %d is %d hops away", u, f.Hops[k])
		}
	}
	return nil
}

// SplitOutline is SplitRange for a process that has only the rows of the parts of own: rows returns those of a part,
// in both directions. needed says that layers compute only the rows that the loss needs. Nothing is pruned. Rows that
// contradict the outline are an error.
//
// Method: SplitRange finds out from the rows of other parts which vertices of a part they read; outlines list it, as
// the halos of these parts.
func SplitOutline(o *Outline, rows func(part int) (in, out *Rows), loops Loops, own Range, needed bool, layers int, rank []int32) (*Cut, error) {
	n, parts := len(o.PartOf), len(o.In)
	if rank != nil && len(rank) != n || own.Lo < 0 || own.Hi < own.Lo || own.Hi > parts || layers > maxHops {
		return nil, fmt.Errorf("split %d vertices into %d parts for those from %d to %d: %d ranks, %d layers", n, parts, own.Lo, own.Hi, len(rank), layers)
	}
	c := &Cut{Own: own, PartOf: o.PartOf, LocalOf: make([]int32, n), Layers: layers, Symmetric: o.Symmetric}
	c.InDegree = o.degrees(o.InDegree, loops)
	if c.OutDegree = c.InDegree; !o.Symmetric {
		c.OutDegree = o.degrees(o.OutDegree, loops)
	}
	levelOf := func(hops uint8) Level {
		switch {
		case !needed:
			return Level(layers)
		case int(hops) > layers:
			return -1
		}
		return Level(layers - int(hops))
	}
	level := make([]Level, n)
	for v := range level {
		level[v] = levelOf(o.Hops[v])
	}
	var touched [][]uint64
	if parts > 1 {
		touched = [][]uint64{o.touched()}
	}
	if err := c.arrange(parts, level, touched, rank); err != nil {
		return nil, err
	}
	b := newBlockBuilder(c, loops, nil)
	for i, p := range c.Parts {
		if !own.Has(i) {
			p.In = b.far(&o.In[i], level, levelOf, true)
			p.Out = b.far(&o.Out[i], level, levelOf, false)
			continue
		}
		in, out := rows(i)
		if err := o.matches(in, out, p.Inner); err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		b.both(in, out, i, level)
		if !o.In[i].matches(&p.In) || !o.Out[i].matches(&p.Out) {
			return nil, fmt.Errorf("part %d: its rows have other halo vertices than the tables of all parts", i)
		}
	}
	return c, nil
}

// degrees returns a table of degrees once loops are as wanted.
func (o *Outline) degrees(stored []int32, loops Loops) []int32 {
	out := slices.Clone(stored)
	for v, has := range o.Loops {
		switch {
		case loops == LoopsAdded && !has:
			out[v]++
		case loops == LoopsRemoved && has:
			out[v]--
		}
	}
	return out
}

// touched is touchedParts of an outline.
func (o *Outline) touched() []uint64 {
	set := make([]uint64, len(o.PartOf))
	for _, side := range [][]Fringe{o.In, o.Out} {
		for i := range side {
			for _, u := range side[i].IDs {
				set[u] |= 1 << (uint(i) % 64)
			}
		}
	}
	return set
}

// matches says where rows of a part are not those of the outline.
func (o *Outline) matches(in, out *Rows, inner []NodeID) error {
	for _, v := range inner {
		row := in.row(v)
		_, loop := slices.BinarySearch(row, NodeID(in.at(v)))
		if len(row) != int(o.InDegree[v]) || len(out.row(v)) != int(o.OutDegree[v]) || loop != o.Loops[v] {
			return errors.New("its rows have other edges than the tables of all parts")
		}
		if o.Weights != nil {
			if err := o.Weights.matches(in, out, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches reports whether a block has the halo vertices of a fringe.
func (f *Fringe) matches(b *Block) bool {
	ids := slices.Clone(b.IDs)
	slices.Sort(ids)
	return slices.Equal(ids, f.IDs)
}

// far returns one direction of a part whose rows another process has.
func (b *blockBuilder) far(f *Fringe, level []Level, levelOf func(hops uint8) Level, ofReader bool) Block {
	out := Block{Owners: Owners{At: []int{0}}, Levels: []Level{}, IDs: slices.Clone(f.IDs), Edges: make([]int32, len(f.IDs))}
	if b.mark == nil {
		return out
	}
	for k, u := range f.IDs {
		if b.mark[u] = 1; ofReader {
			b.mark[u] = int32(levelOf(f.Hops[k])) + 2
		}
	}
	b.listHalo(&out, level, ofReader)
	for k, u := range f.IDs {
		out.Edges[b.mark[u]-1] = f.Edges[k]
	}
	b.unmark(&out)
	return out
}
