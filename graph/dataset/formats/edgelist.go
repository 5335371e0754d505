package formats

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// edgeText is the edges of a text: lines of two vertex ids, and perhaps a weight.
type edgeText struct {
	t       *textfile.Reader
	named   bool                     // the first line may hold names
	told    bool                     // it is known whether it is
	n       int                      // vertices; -1 if unknown
	says    string                   // the file that says how many they are, "": none does
	ids     *adjacency.IDs           // of the vertices; nil: an id is its vertex
	given   func() ([]string, error) // names of the vertices in the file of them, nil if there are none; nil: there is no such file
	words   *idNames                 // of the vertices; nil: ids are numbers
	largest int64                    // id; -1 without edges
	ignore  bool                     // weights that differ from 1
	ncol    bool                     // ids are names between blanks, and no first line is a header
	// where the largest id stands
	largestAt, largestLine int64

	first    [2]int64 // ids of the first edge
	most     int64    // the largest id of the others
	lines    int64    // edges
	both     int64    // that are said to be undirected
	exact    float64  // the last weight before it was rounded
	weightOf float64  // the first edge's
	rounded  bool     // a whole number lost digits
	vanished int64    // weights that float32 rounds to 0

	head     bool      // the first line is no edge
	ends     [2]string // names in the first line that may be those of the columns of the ends
	kind     int       // column that may say that an edge is undirected, where columns are named
	columns  []int     // what each holds; nil: from, to and perhaps a weight
	weighed  bool      // the first edge has a weight
	weightAs string    // where the weights were found
	others   []string  // keys of networkx's dicts that are not used
}

// each reads the edges of a text from its beginning.
func (l *edgeText) each(edge func(from, to int64, weight float32) error) error {
	t := l.t
	if err := t.Restart(); err != nil {
		return err
	}
	if l.head {
		t.SkipLine()
	}
	l.lines, l.both, l.vanished, l.most = 0, 0, 0, -1
	for first := true; t.Next(); first = false {
		from, to, weight, weighed, err := l.line()
		if err != nil {
			return err
		}
		if w := l.words; w != nil && (!first || l.head) && l.ends[0] != "" && l.ends == [2]string{w.names[from], w.names[to]} {
			return t.Fault("the line %s is the first one again: delete it", fields.Quoted(l.ends[:]))
		}
		if l.lines++; first {
			l.weighed, l.weightOf, l.first = weighed, l.exact, [2]int64{from, to}
		} else {
			l.most = max(l.most, from, to)
		}
		if weighed != l.weighed && !l.ignore {
			with := map[bool]string{true: "a", false: "no"}
			return t.Fault("this edge has %s weight, those before it have %s weight", with[weighed], with[l.weighed])
		}
		if err := edge(from, to, weight); err != nil {
			return err
		}
	}
	return t.Finish()
}

// line reads an edge.
func (l *edgeText) line() (from, to int64, weight float32, weighed bool, err error) {
	t, col := l.t, 0
	weight = 1
	for more := true; more; col++ {
		kind := colFrom + col
		if l.columns != nil && col < len(l.columns) {
			kind = l.columns[col]
		}
		switch {
		case l.columns != nil && col >= len(l.columns):
			err = t.Unexpected(fmt.Sprintf("the end of the line after %d fields, as many as columns are named", len(l.columns)))
		case kind == colFrom:
			from, err = l.id()
		case kind == colTo:
			to, err = l.id()
		case kind == colWeight:
			weight, weighed, err = l.weight()
		case kind == colOther:
			var text []byte
			if text, err = t.Text(); l.columns != nil && col == l.kind && bytes.EqualFold(text, []byte("undirected")) {
				l.both++
			}
		default:
			err = t.Unexpected("the end of the line after from, to and weight; a first line may name more columns: from,to,weight,time")
		}
		if err == nil {
			more, err = t.Separator()
		}
		if err != nil {
			return 0, 0, 0, false, err
		}
		if l.columns == nil && col == 0 && !more {
			return 0, 0, 0, false, t.Unexpected("the id of the vertex where the edge ends")
		}
	}
	switch {
	case l.columns != nil && col < len(l.columns) && l.columns[col] == colWeight:
		err = t.Unexpected("the weight of the edge")
	case l.columns != nil && col < len(l.columns):
		err = t.Unexpected(fmt.Sprintf("%d fields, as many as columns are named", len(l.columns)))
	}
	return from, to, weight, weighed, err
}

// wantID is what an id must be where ids are numbers.
const wantID = "a vertex id (a number from 0 on; names become numbers with data tables)"

// errPadded ends the reading of ids as numbers, where 007 and 7 would be one vertex.
var errPadded = errors.New("ids begin with a 0")

// id reads the id of a vertex.
func (l *edgeText) id() (id int64, err error) {
	if l.words == nil {
		want := wantID
		if l.t.AtSeparator() {
			want = wantID + "; lines without any field are left out by data tables"
		}
		id, err = l.t.ID(want)
		switch {
		case err == nil && l.t.Padded != "" && l.named && l.n < 0:
			err = errPadded
		case err == nil:
			err = l.check(id)
		}
		return id, err
	}
	name, err := l.t.Text()
	if err != nil {
		return 0, err
	}
	v, err := l.words.number(name)
	if err != nil {
		return 0, l.t.Fault("%w", err)
	}
	return int64(v), nil
}

// check refuses an id that cannot be a vertex, and remembers where the largest stands.
func (l *edgeText) check(id int64) error {
	t := l.t
	switch {
	case l.ids != nil:
		return nil
	case l.n >= 0 && id >= int64(l.n):
		says := ""
		if l.says != "" {
			says = fmt.Sprintf(": %s has %d vertices", l.says, l.n)
		}
		if id == int64(l.n) {
			says += "; ids count from 0"
		}
		return t.Fault("vertex %d is outside [0, %d)%s", id, l.n, says)
	case id >= math.MaxInt32-1:
		return t.Fault("vertex id %d is above %d; ids this large must be compacted (--compact) or renumbered", id, math.MaxInt32-2)
	}
	if id > l.largest {
		l.largest, l.largestAt, l.largestLine = id, t.TokenAt, t.TokenLine
	}
	return nil
}

// vertices returns the number of vertices, known or told by the ids.
func (l *edgeText) vertices(c *adjacency.RowCounts) (int, error) {
	switch {
	case l.n >= 0:
		return l.n, nil
	case c.Edges == 0:
		hint := ""
		if c := l.t.Comments(); c.Count > 0 {
			hint = fmt.Sprintf("; lines that begin with # or %% are comments, such as line %d", c.Line)
		}
		return 0, l.t.Whole("holds no edges%s", hint)
	case l.words != nil:
		return len(l.words.names), nil
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
	l.largest, l.ignore = -1, opt.IgnoreWeights
	var err error
	switch {
	case l.ncol:
		if _, _, err = l.t.Head(1); err == nil {
			l.t.Blanks()
			err = l.takeNames(d, nil, false, nil)
		}
	case l.named:
		err = l.plan(d)
	}
	if err != nil {
		return err
	}
	err = l.read(d, opt, symmetric, vertices)
	if !errors.Is(err, errPadded) {
		return err
	}
	if err := l.takeNames(d, nil, false, nil); err != nil {
		return err
	}
	d.Note("ids such as %.40q are names, since they begin with a 0, as codes do", l.t.Padded)
	return l.read(d, opt, symmetric, vertices)
}

// compact sorts the ids that occur.
func (l *edgeText) compact() error {
	err := l.each(func(from, to int64, _ float32) error {
		for _, id := range []int64{from, to} {
			if err := l.ids.Add(id); err != nil {
				return l.t.Fault("%w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.ids.Finish()
}

// read is graph of a text whose columns are known.
func (l *edgeText) read(d *dataset.Dataset, opt dataset.Options, symmetric bool,
	vertices func(c *adjacency.RowCounts) (int, error)) error {
	if l.ids != nil {
		if err := l.compact(); err != nil {
			return err
		}
	}
	weighted := false
	list := func(edge func(from, to graph.NodeID, weight float32)) error {
		return l.each(func(from, to int64, weight float32) error {
			a, b := graph.NodeID(from), graph.NodeID(to)
			if l.ids != nil {
				var ok1, ok2 bool
				a, ok1 = l.ids.Place(from)
				b, ok2 = l.ids.Place(to)
				if !ok1 || !ok2 {
					return l.t.Fault("the file changed while it was read")
				}
			}
			edge(a, b, weight)
			return nil
		})
	}
	bare := func(edge func(from, to graph.NodeID)) error {
		return list(func(from, to graph.NodeID, weight float32) {
			weighted = weighted || weight != 1
			edge(from, to)
		})
	}
	fault := func(err error) error { return l.t.Whole("%w", err) }
	if l.weightAs == "" {
		l.weightAs = "third column"
	}
	if err := takeEdges(d, bare, opt, symmetric, vertices, fault); err != nil {
		return err
	}
	if len(l.others) > 0 {
		d.Note("of the attributes of edges only weight is used, not %s", fields.Quoted(l.others))
	}
	l.noteDoubts(d)
	if !weighted {
		return nil
	}
	if err := takeWeights(d, list, edgesAs(opt, symmetric), fault); err != nil {
		return err
	}
	doubt := "--ignore-weights leaves them out"
	if l.rounded {
		doubt = "float32 rounds them: if they are times or ids, give --ignore-weights"
	}
	if l.vanished > 0 {
		d.Note("the %s: float32 rounds %d of the weights to 0, as they are below 1e-45: multiply them all by a number, or give --ignore-weights", l.weightAs, l.vanished)
	}
	d.Note("the %s is read as weights of edges (the first is %s; %s)", l.weightAs, strconv.FormatFloat(l.weightOf, 'f', -1, 64), doubt)
	return nil
}

// edgesAs returns Options.Edges of a format; symmetric is its default.
func edgesAs(opt dataset.Options, symmetric bool) string {
	if kind := opt.Edges; kind != "" && kind != dataset.Auto {
		return kind
	}
	if symmetric {
		return dataset.Symmetric
	}
	return dataset.Directed
}

// takeEdges makes the graph of edges from → to. symmetric is the default of the format; fault gives an error its file.
func takeEdges(d *dataset.Dataset, list adjacency.Edges, opt dataset.Options, symmetric bool, vertices func(c *adjacency.RowCounts) (int, error), fault func(error) error) error {
	kind := edgesAs(opt, symmetric)
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

// loadEdgeList reads a SNAP edge list, or any other lines of two vertex ids: text or gzip, comments after '#' or '%', blanks, a
// comma or a semicolon between the ids, directed unless Options.Edges says otherwise, neither features nor labels. Ids are kept as given,
// so the largest one tells the number of vertices, unless Options.Compact numbers the ids that occur in ascending order. Ids that are names become vertices
// in the order in which they occur; so do numbers, once one begins with a 0, and all ids of igraph's .ncol. The text is read twice,
// with Options.Compact or names three times.
//
// Source: snap.stanford.edu/data.
func loadEdgeList(path string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(path), Format: formatEdges}
	ncol := suffix(".ncol", ".ncol.gz")(path)
	return d, textfile.Open(path, opt.Watch, func(t *textfile.Reader) error { return readEdgeList(d, t, ncol, opt) })
}

func readEdgeList(d *dataset.Dataset, t *textfile.Reader, ncol bool, opt dataset.Options) error {
	return readEdges(d, &edgeText{t: t, named: true, ncol: ncol, n: -1}, opt)
}

// readEdges reads edges whose ids, or names, say how many vertices there are.
func readEdges(d *dataset.Dataset, l *edgeText, opt dataset.Options) error {
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
