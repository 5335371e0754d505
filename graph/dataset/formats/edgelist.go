package formats

import (
	"math"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// edgeText is the edges of a text: lines of two vertex ids.
type edgeText struct {
	t       *textfile.Reader
	named   bool           // the first line may hold names
	n       int            // vertices; -1 if unknown
	ids     *adjacency.IDs // of the vertices; nil: an id is its vertex
	largest int64          // id; -1 without edges
	// where the largest id stands
	largestAt, largestLine int64
}

// each reads the lines "from to" of a text from its beginning; a third number is a weight, which must be 1.
func (l *edgeText) each(edge func(from, to int64) error) error {
	t := l.t
	if err := t.Restart(); err != nil {
		return err
	}
	if l.named {
		t.Header()
	}
	for t.Next() {
		var ends [2]int64
		for k := range ends {
			id, err := t.ID("a vertex id (a number from 0 on; names become numbers with data tables)")
			if err != nil {
				return err
			}
			if err := l.check(id); err != nil {
				return err
			}
			ends[k] = id
			more, err := t.Separator()
			if err != nil {
				return err
			}
			if k == 0 && !more {
				return t.Unexpected("the id of the vertex where the edge ends")
			}
			if k == 1 && more {
				if err := refuseWeight(t); err != nil {
					return err
				}
			}
		}
		if err := edge(ends[0], ends[1]); err != nil {
			return err
		}
	}
	return t.Finish()
}

// check refuses an id that cannot be a vertex, and remembers where the largest stands.
func (l *edgeText) check(id int64) error {
	t := l.t
	switch {
	case l.ids != nil:
		return nil
	case l.n >= 0 && id >= int64(l.n):
		return t.Fault("vertex %d is outside [0, %d)", id, l.n)
	case id >= math.MaxInt32-1:
		return t.Fault("vertex id %d is above %d; ids this large must be compacted (--compact) or renumbered", id, math.MaxInt32-2)
	}
	if id > l.largest {
		l.largest, l.largestAt, l.largestLine = id, t.TokenAt, t.TokenLine
	}
	return nil
}

// refuseWeight reads the third field of a line and what follows.
func refuseWeight(t *textfile.Reader) error {
	w, err := t.Number(64)
	if err != nil {
		return err
	}
	if w != 1 {
		return t.Fault("the edge has the weight %g; edge weights are not supported: drop the third column", w)
	}
	more, err := t.Separator()
	if err == nil && more {
		err = t.Unexpected("the end of the line after from, to and weight")
	}
	return err
}

// vertices returns the number of vertices, known or told by the ids.
func (l *edgeText) vertices(c *adjacency.RowCounts) (int, error) {
	switch {
	case l.n >= 0:
		return l.n, nil
	case c.Edges == 0:
		return 0, l.t.Whole("holds no edges")
	case l.ids != nil:
		return len(l.ids.Sorted), nil
	}
	n := l.largest + 1
	if limit := adjacency.MaxVertices(c.Edges); n > limit {
		return 0, l.t.FaultAt(l.largestAt, l.largestLine, "vertex id %d is too large for %d edges (at most %d vertices, %d for each edge and %d): compact the ids (--compact) or renumber them",
			l.largest, c.Edges, limit, adjacency.IDsPerEdge, adjacency.FreeVertices)
	}
	return int(n), nil
}

// graph reads the edges as d's graph. symmetric is the default of the format.
func (l *edgeText) graph(d *dataset.Dataset, opt dataset.Options, symmetric bool, vertices func(c *adjacency.RowCounts) (int, error)) error {
	l.largest = -1
	if l.ids != nil {
		err := l.each(func(from, to int64) error {
			if err := l.ids.Add(from); err != nil {
				return l.t.Fault("%w", err)
			}
			if err := l.ids.Add(to); err != nil {
				return l.t.Fault("%w", err)
			}
			return nil
		})
		if err == nil {
			err = l.ids.Finish()
		}
		if err != nil {
			return err
		}
	}
	list := func(edge func(from, to graph.NodeID)) error {
		return l.each(func(from, to int64) error {
			a, b := graph.NodeID(from), graph.NodeID(to)
			if l.ids != nil {
				var ok1, ok2 bool
				a, ok1 = l.ids.Place(from)
				b, ok2 = l.ids.Place(to)
				if !ok1 || !ok2 {
					return l.t.Fault("the file changed while it was read")
				}
			}
			edge(a, b)
			return nil
		})
	}
	return takeEdges(d, list, opt, symmetric, vertices, func(err error) error { return l.t.Whole("%w", err) })
}

// takeEdges makes the graph of edges from → to. symmetric is the default of the format; fault gives an error its file.
func takeEdges(d *dataset.Dataset, list adjacency.Edges, opt dataset.Options, symmetric bool, vertices func(c *adjacency.RowCounts) (int, error), fault func(error) error) error {
	kind := opt.Edges
	if kind == "" || kind == dataset.Auto {
		if kind = dataset.Directed; symmetric {
			kind = dataset.Symmetric
		}
	}
	turned := list
	if kind == dataset.Reversed {
		turned = func(edge func(from, to graph.NodeID)) error {
			return list(func(from, to graph.NodeID) { edge(to, from) })
		}
	}
	g, counts, err := adjacency.InRows(turned, kind == dataset.Symmetric, vertices)
	if err != nil {
		if _, placed := err.(*dataset.FormatError); placed {
			return err
		}
		return fault(err)
	}
	d.Graph = g
	fields.NoteEdges(d, counts)
	return nil
}

// noteDirected says that an edge list was read as directed because nothing else was asked for, and how many vertices have
// no edge.
func noteDirected(d *dataset.Dataset, opt dataset.Options) {
	if opt.Edges == "" || opt.Edges == dataset.Auto {
		d.Note("edges are read as directed, from the first column to the second (--edges symmetric takes both directions, --edges reversed the other one)")
	}
	used := make([]bool, d.Graph.Rows())
	for v := range used {
		for _, u := range d.Graph.Row(v) {
			used[v], used[u] = true, true
		}
	}
	if unused := len(used) - check.CountTrue(used); unused > 0 {
		d.Note("%d of %d vertices have no edge", unused, len(used))
	}
}

// loadEdgeList reads a SNAP edge list, or any other lines of two vertex ids: text or gzip, comments after '#', blanks or a
// comma between the ids, directed unless Options.Edges says otherwise, neither features nor labels. Ids are kept as given,
// so the largest one tells the number of vertices, unless Options.Compact numbers the ids that occur in ascending order.
// The text is read twice, with Options.Compact three times.
//
// Source: snap.stanford.edu/data.
func loadEdgeList(path string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(path), Format: formatEdges}
	return d, textfile.Open(path, opt.Watch, func(t *textfile.Reader) error { return readEdgeList(d, t, opt) })
}

func readEdgeList(d *dataset.Dataset, t *textfile.Reader, opt dataset.Options) error {
	l := &edgeText{t: t, named: true, n: -1}
	if opt.Compact {
		l.ids = &adjacency.IDs{}
	}
	if err := l.graph(d, opt, false, l.vertices); err != nil {
		return err
	}
	if n := d.Graph.Rows(); l.ids != nil && l.ids.Sorted[n-1] != int64(n-1) {
		d.IDs = l.ids.Sorted
		d.Note("%d ids up to %d were compacted", n, d.IDs[n-1])
	}
	noteDirected(d, opt)
	return nil
}
