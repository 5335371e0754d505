package formats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/pickle"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/regular"
)

// planetoidVal is the number of validation vertices: the 500 after the training ones, as in the publication.
const planetoidVal = 500

// planetoid is the eight files of a data set, decoded.
type planetoid struct {
	dir, name   string
	x, allx, tx *pickle.CSR
	y, ally, ty *pickle.Array
	test        []int32 // vertex of row i of tx and ty
	graph       *pickle.Dict
	watch       dataset.Watch
	files       []*os.File // that arrays are read from
}

// loadPlanetoid reads ind.NAME.* of a folder.
//
// Method: rows of allx are the first vertices; row i of tx is vertex test.index[i]; sizes come from the graph, so that
// vertices without a row (CiteSeer has 15) have no features and no label, and are in no split. Training vertices are those
// of y, validation the next 500, test those of test.index.
//
// Source: Yang, Cohen, Salakhutdinov, Revisiting Semi-Supervised Learning with Graph Embeddings; github.com/kimiyoung/planetoid.
func loadPlanetoid(dir, name string, opt dataset.Options) (*dataset.Dataset, error) {
	p := &planetoid{dir: dir, name: name, watch: opt.Watch}
	defer p.close()
	if err := p.read(); err != nil {
		return nil, err
	}
	d := &dataset.Dataset{Name: name, Format: formatPlanetoid}
	n := len(p.graph.Keys)
	if n == 0 {
		return nil, p.fault("graph", fmt.Errorf("has no vertices"))
	}
	if err := p.checkSizes(n); err != nil {
		return nil, err
	}
	vertices := func(*adjacency.RowCounts) (int, error) { return n, nil }
	if err := takeEdges(d, p.edges(n), opt, true, vertices, func(err error) error { return p.fault("graph", err) }); err != nil {
		return nil, err
	}
	p.graph = nil
	if err := p.features(d, n); err != nil {
		return nil, err
	}
	return d, p.labels(d, n)
}

// path returns the file that ends in .what.
func (p *planetoid) path(what string) string {
	return filepath.Join(p.dir, "ind."+p.name+"."+what)
}

func (p *planetoid) fault(what string, err error) error {
	return &dataset.FormatError{File: p.path(what), Offset: -1, Err: err}
}

// read decodes the eight files.
func (p *planetoid) read() error {
	if err := p.readTest(); err != nil {
		return err
	}
	for _, f := range []struct {
		what string
		into **pickle.CSR
	}{{"x", &p.x}, {"allx", &p.allx}, {"tx", &p.tx}} {
		if err := decode(p, f.what, "a csr_matrix", f.into); err != nil {
			return err
		}
		if (*f.into).Indptr == nil {
			return p.fault(f.what, fmt.Errorf("the matrix has no content"))
		}
	}
	for _, f := range []struct {
		what string
		into **pickle.Array
	}{{"y", &p.y}, {"ally", &p.ally}, {"ty", &p.ty}} {
		if err := decode(p, f.what, "an array", f.into); err != nil {
			return err
		}
		if len((*f.into).Shape) != 2 {
			return p.fault(f.what, fmt.Errorf("is not a matrix of labels"))
		}
	}
	return decode(p, "graph", "a dict", &p.graph)
}

func decode[T any](p *planetoid, what, want string, into **T) error {
	f, err := regular.Open(p.path(what))
	if err != nil {
		return err
	}
	p.files = append(p.files, f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	v, err := pickle.Read(p.path(what), f, info.Size())
	if err != nil {
		return err
	}
	if p.watch != nil {
		if err := p.watch(filepath.Base(p.path(what)), info.Size(), info.Size()); err != nil {
			return err
		}
	}
	var ok bool
	if *into, ok = v.(*T); !ok {
		return p.fault(what, fmt.Errorf("the pickle is not %s", want))
	}
	return nil
}

func (p *planetoid) close() {
	for _, f := range p.files {
		f.Close() // it was only read
	}
}

// readTest reads test.index: one vertex per line.
func (p *planetoid) readTest() error {
	return textfile.Open(p.path("test.index"), p.watch, func(t *textfile.Reader) error {
		for t.Next() {
			v, err := t.ID("a vertex number")
			if err != nil {
				return err
			}
			if v >= math.MaxInt32 {
				return t.Fault("vertex %d is outside [0, %d)", v, math.MaxInt32)
			}
			if more, err := t.Separator(); err != nil || more {
				return t.Unexpected("one vertex to a line")
			}
			p.test = append(p.test, int32(v))
		}
		return t.Finish()
	})
}

// checkSizes compares the files with each other and with the n vertices of the graph.
func (p *planetoid) checkSizes(n int) error {
	m, cols, classes := p.allx.Rows, p.allx.Cols, p.ally.Shape[1]
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"ally", p.ally.Shape[0], m}, {"ty", p.ty.Shape[0], p.tx.Rows}, {"y", p.y.Shape[0], p.x.Rows},
		{"tx", p.tx.Rows, len(p.test)},
	} {
		if c.got != c.want {
			return p.fault(c.what, fmt.Errorf("has %d rows, want %d", c.got, c.want))
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{{"x", p.x.Cols, cols}, {"tx", p.tx.Cols, cols}, {"y", p.y.Shape[1], classes}, {"ty", p.ty.Shape[1], classes}} {
		if c.got != c.want {
			return p.fault(c.what, fmt.Errorf("has %d columns, want %d", c.got, c.want))
		}
	}
	if m > n || p.x.Rows > m || cols < 1 || classes < 1 {
		return p.fault("allx", fmt.Errorf("%d rows of %d columns, %d classes and %d training rows do not fit %d vertices", m, cols, classes, p.x.Rows, n))
	}
	seen := make([]bool, n)
	for i, v := range p.test {
		if int(v) < m || int(v) >= n || seen[v] {
			return p.fault("test.index", fmt.Errorf("line %d: vertex %d is outside [%d, %d) or listed twice", i+1, v, m, n))
		}
		seen[v] = true
	}
	return nil
}

// edges lists the entries of the adjacency lists in file order, as they are: i → each of its list.
func (p *planetoid) edges(n int) adjacency.Edges {
	return func(edge func(from, to graph.NodeID)) error {
		seen := make([]bool, n)
		for k, key := range p.graph.Keys {
			v, ok := key.(int64)
			if !ok || v < 0 || v >= int64(n) || seen[v] {
				return fmt.Errorf("entry %d: its key is not a vertex from 0 to %d, or is repeated", k, n-1)
			}
			seen[v] = true
			neighbours, ok := p.graph.Values[k].(*pickle.List)
			if !ok {
				return fmt.Errorf("vertex %d has no list of neighbours", v)
			}
			if neighbours.Items != nil {
				return fmt.Errorf("vertex %d: a neighbour is not a number", v)
			}
			for _, u := range neighbours.Numbers {
				if u < 0 || u >= int64(n) {
					return fmt.Errorf("vertex %d: neighbour %d is outside [0, %d)", v, u, n)
				}
				edge(graph.NodeID(v), graph.NodeID(u))
			}
		}
		return nil
	}
}
