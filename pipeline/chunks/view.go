package chunks

import "capgnn/graph"

// rowBlock is the number of rows that one goroutine works on at once.
const rowBlock = 1 << 12

// View is what a part that holds two chunks sees of its vertices' neighbours.
type View struct {
	Pair Pair
	IDs  []graph.NodeID // the base chunk's vertices, then the added one's, each ascending
	Own  int            // how many of IDs are the base chunk's
	// Local and All are the in-degrees of IDs in the pair and in the graph, loops not counted.
	Local, All []int32

	cut   *Cut
	graph *graph.CSR
}

// View returns what a part sees of g. Cost: a pass over the rows of both chunks, on all processors.
func (c *Cut) View(g *graph.CSR, p Pair) *View {
	base, added := c.Members[p.Base], c.Members[p.Added]
	n := len(base) + len(added)
	v := &View{Pair: p, IDs: make([]graph.NodeID, 0, n), Own: len(base), Local: make([]int32, n), All: make([]int32, n), cut: c, graph: g}
	v.IDs = append(append(v.IDs, base...), added...)
	graph.EachBlock(n, rowBlock, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v.Local[i], v.All[i] = v.degrees(v.IDs[i])
		}
	})
	return v
}

func (v *View) degrees(id graph.NodeID) (local, all int32) {
	for _, u := range v.graph.Row(int(id)) {
		if u == id {
			continue
		}
		all++
		if v.has(u) {
			local++
		}
	}
	return local, all
}

// has reports whether a vertex is in the pair.
func (v *View) has(u graph.NodeID) bool {
	k := int(v.cut.Of[u])
	return k == v.Pair.Base || k == v.Pair.Added
}

// Index returns which of IDs a vertex of the pair is.
func (v *View) Index(u graph.NodeID) int {
	i := int(v.cut.Place[u])
	if int(v.cut.Of[u]) != v.Pair.Base {
		i += v.Own
	}
	return i
}

// Graph returns the edges among the pair's vertices, loops too, with the rows of the whole graph: those of other vertices are
// empty. Of two chunks it is the graph itself.
func (v *View) Graph() *graph.CSR {
	if v.cut.Chunks() == 2 {
		return v.graph
	}
	g := &graph.CSR{Indptr: make([]int64, len(v.cut.Of)+1), Cols: v.graph.Cols}
	each := func(f func(id graph.NodeID, row []graph.NodeID)) {
		graph.EachBlock(len(v.IDs), rowBlock, func(lo, hi int) {
			for _, id := range v.IDs[lo:hi] {
				f(id, v.graph.Row(int(id)))
			}
		})
	}
	each(func(id graph.NodeID, row []graph.NodeID) {
		for _, u := range row {
			if v.has(u) {
				g.Indptr[id+1]++
			}
		}
	})
	for i := range v.cut.Of {
		g.Indptr[i+1] += g.Indptr[i]
	}
	g.Indices = make([]graph.NodeID, g.Edges())
	each(func(id graph.NodeID, row []graph.NodeID) {
		into := g.Row(int(id))[:0]
		for _, u := range row {
			if v.has(u) {
				into = append(into, u)
			}
		}
	})
	return g
}

// Ratio returns the share of vertex i's neighbours that are in the pair: 1 where it has none, as none is missing.
func (v *View) Ratio(i int) float64 {
	if v.All[i] == 0 {
		return 1
	}
	return float64(v.Local[i]) / float64(v.All[i])
}

// targets calls f with the index of every target, ascending. train marks training vertices by id.
func (v *View) targets(t Targets, train []bool, f func(i int)) {
	n := len(v.IDs)
	if t == Base {
		n = v.Own
	}
	for i, id := range v.IDs[:n] {
		if train[id] {
			f(i)
		}
	}
}

// Coverage says in numbers how much of their neighbourhoods the targets of parts see.
type Coverage struct {
	Targets   int
	Ratio     float64 // ĉ: mean over targets of local over all in-neighbours, 1 for a target without neighbours and where there is no target
	Kept, All int64   // in-edges of targets: those in the pair, and all
	Alone     int     // targets with neighbours, all of them elsewhere
}

// Coverage returns that of one part. train marks training vertices by id.
func (v *View) Coverage(t Targets, train []bool) Coverage {
	c := Coverage{Ratio: 1}
	sum := 0.0
	v.targets(t, train, func(i int) {
		c.Targets++
		c.Kept += int64(v.Local[i])
		c.All += int64(v.All[i])
		if v.Local[i] == 0 && v.All[i] > 0 {
			c.Alone++
		}
		sum += v.Ratio(i)
	})
	if c.Targets > 0 {
		c.Ratio = sum / float64(c.Targets)
	}
	return c
}

// Total returns the coverage of several parts together.
func Total(parts []Coverage) Coverage {
	all := Coverage{Ratio: 1}
	sum := 0.0
	for _, c := range parts {
		all.Targets += c.Targets
		all.Kept += c.Kept
		all.All += c.All
		all.Alone += c.Alone
		sum += c.Ratio * float64(c.Targets)
	}
	if all.Targets > 0 {
		all.Ratio = sum / float64(all.Targets)
	}
	return all
}
