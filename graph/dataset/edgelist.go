package dataset

import (
	"math"
	"slices"

	"capgnn/graph"
)

const (
	edgeBlock = 1 << 15 // edges
	// An edge list says how many vertices there are only by its largest id, or by a number beside it. Beyond freeVertices
	// and idsPerEdge ids for each edge the ids are no numbering, and arrays by id would cost more than the edges.
	freeVertices = 1 << 20
	idsPerEdge   = 64
)

// edgeList collects edges in blocks, so that it never holds more than one block too much.
type edgeList struct {
	blocks  [][]graph.Edge
	largest int64 // id; -1 without edges
	// where the largest id stands
	largestAt, largestLine int64
}

func newEdgeList() *edgeList { return &edgeList{largest: -1} }

func (l *edgeList) add(from, to graph.NodeID) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == edgeBlock {
		l.blocks = append(l.blocks, make([]graph.Edge, 0, edgeBlock))
		last++
	}
	l.blocks[last] = append(l.blocks[last], graph.Edge{From: from, To: to})
}

func (l *edgeList) len() int {
	if len(l.blocks) == 0 {
		return 0
	}
	last := len(l.blocks) - 1
	return last*edgeBlock + len(l.blocks[last])
}

func (l *edgeList) each(edge func(from, to graph.NodeID)) {
	for _, block := range l.blocks {
		for _, e := range block {
			edge(e.From, e.To)
		}
	}
}

// inNeighbours builds the graph of n vertices from edges in range, which each lists in the same order every time: rows of
// in-neighbours, sorted, repeats merged.
func inNeighbours(n int, each func(edge func(from, to graph.NodeID))) (*graph.CSR, error) {
	indptr := make([]int64, n+1)
	each(func(_, to graph.NodeID) { indptr[to+1]++ })
	for v := range n {
		indptr[v+1] += indptr[v]
	}
	indices, next := make([]graph.NodeID, indptr[n]), slices.Clone(indptr[:n])
	each(func(from, to graph.NodeID) {
		indices[next[to]] = from
		next[to]++
	})
	return graph.Normalise(&graph.CSR{Indptr: indptr, Indices: indices, Cols: n})
}

// maxVertices returns how many vertices a list of so many edges may have.
func maxVertices(edges int) int64 { return idsPerEdge*(int64(edges)+1) + freeVertices }

// compaction numbers ids in the order in which they come; renumber makes that ascending.
type compaction struct {
	index map[int64]graph.NodeID
	ids   []int64
}

func (c *compaction) of(id int64) (graph.NodeID, bool) {
	v, ok := c.index[id]
	if !ok {
		if len(c.ids) == math.MaxInt32-1 {
			return 0, false
		}
		v = graph.NodeID(len(c.ids))
		c.index[id], c.ids = v, append(c.ids, id)
	}
	return v, true
}

// renumber sorts the ids and renames the vertices of l accordingly.
func (c *compaction) renumber(l *edgeList) {
	sorted := slices.Clone(c.ids)
	slices.Sort(sorted)
	rank := make([]graph.NodeID, len(c.ids))
	for v, id := range sorted {
		rank[c.index[id]] = graph.NodeID(v)
	}
	for _, block := range l.blocks {
		for i, e := range block {
			block[i] = graph.Edge{From: rank[e.From], To: rank[e.To]}
		}
	}
	c.ids, l.largest = sorted, int64(len(sorted))-1
}

// readEdges reads lines "from to" of vertex ids; a third number is a weight, which must be 1. n is the number of vertices,
// -1 if unknown; with c the ids are compacted instead.
func readEdges(t *text, n int, c *compaction) (*edgeList, error) {
	l := newEdgeList()
	for t.next() {
		var ends [2]graph.NodeID
		for k := range ends {
			id, err := t.id("a vertex id")
			if err != nil {
				return nil, err
			}
			if ends[k], err = l.vertex(t, id, n, c); err != nil {
				return nil, err
			}
			more, err := t.separator()
			if err != nil {
				return nil, err
			}
			if k == 0 && !more {
				return nil, t.unexpected("the id of the vertex where the edge ends")
			}
			if k == 1 && more {
				if err := refuseWeight(t); err != nil {
					return nil, err
				}
			}
		}
		l.add(ends[0], ends[1])
	}
	if err := t.finish(); err != nil {
		return nil, err
	}
	if c != nil {
		c.renumber(l)
	}
	return l, nil
}

// vertex checks an id that was read and returns its vertex.
func (l *edgeList) vertex(t *text, id int64, n int, c *compaction) (graph.NodeID, error) {
	if c != nil {
		v, ok := c.of(id)
		if !ok {
			return 0, t.fault("there are more than %d vertices", math.MaxInt32-1)
		}
		return v, nil
	}
	if n >= 0 && id >= int64(n) {
		return 0, t.fault("vertex %d is outside [0, %d)", id, n)
	}
	if id >= math.MaxInt32-1 {
		return 0, t.fault("vertex id %d is above %d; ids this large must be compacted (--compact) or renumbered", id, math.MaxInt32-2)
	}
	if id > l.largest {
		l.largest, l.largestAt, l.largestLine = id, t.tokAt, t.tokLine
	}
	return graph.NodeID(id), nil
}

// refuseWeight reads the third field of a line and what follows.
func refuseWeight(t *text) error {
	w, err := t.number(64)
	if err != nil {
		return err
	}
	if w != 1 {
		return t.fault("the edge has the weight %g; edge weights are not supported, leave the third column away", w)
	}
	more, err := t.separator()
	if err == nil && more {
		err = t.unexpected("the end of the line after from, to and weight")
	}
	return err
}

// vertices returns the number of vertices of a list whose ids are kept as given.
func (l *edgeList) vertices(t *text) (int, error) {
	n := l.largest + 1
	if n == 0 {
		return 0, t.whole("holds no edges")
	}
	if limit := maxVertices(l.len()); n > limit {
		return 0, t.faultAt(l.largestAt, l.largestLine, "vertex id %d is too large for %d edges (at most %d vertices, %d for each edge and %d): compact the ids (--compact) or renumber them",
			l.largest, l.len(), limit, idsPerEdge, freeVertices)
	}
	return int(n), nil
}

// fromEdges returns the graph that edges from → to mean, given as in-neighbours; symmetric is the default of the format.
func (o Options) fromEdges(g *graph.CSR, symmetric bool) *graph.CSR {
	if symmetric && (o.Edges == "" || o.Edges == Auto) {
		return g.Symmetrise()
	}
	return o.fromStore(g)
}

// noteDirected says that an edge list was read as directed because nothing else was asked for, and how many vertices have
// no edge.
func (d *Dataset) noteDirected(opt Options, g *graph.CSR) {
	if opt.Edges == "" || opt.Edges == Auto {
		d.note("edges are read as directed, from the first column to the second (--edges symmetric takes both directions, --edges reversed the other one)")
	}
	unused := 0
	for v, out := range g.OutDegree() {
		if out == 0 && g.Indptr[v] == g.Indptr[v+1] {
			unused++
		}
	}
	if unused > 0 {
		d.note("%d of %d vertices have no edge", unused, g.Rows())
	}
}

// loadEdgeList reads a SNAP edge list, or any other lines of two vertex ids: text or gzip, comments after '#', blanks or a
// comma between the ids, directed unless Options.Edges says otherwise, neither features nor labels. Ids are kept as given,
// so the largest one tells the number of vertices, unless Options.Compact numbers the ids that occur in ascending order.
//
// Source: snap.stanford.edu/data.
func loadEdgeList(path string, opt Options) (*Dataset, error) {
	d := &Dataset{Name: baseName(path), Format: formatEdges}
	return d, openText(path, func(t *text) error { return d.readEdgeList(t, opt) })
}

func (d *Dataset) readEdgeList(t *text, opt Options) error {
	t.header()
	var c *compaction
	if opt.Compact {
		c = &compaction{index: map[int64]graph.NodeID{}}
	}
	l, err := readEdges(t, -1, c)
	if err != nil {
		return err
	}
	n, err := l.vertices(t)
	if err != nil {
		return err
	}
	if c != nil && c.ids[n-1] != int64(n-1) {
		d.IDs = c.ids
		d.note("%d ids up to %d were compacted", n, c.ids[n-1])
	}
	return d.takeEdges(l, n, opt, false)
}
