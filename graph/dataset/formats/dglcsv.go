package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/regular"
)

// metaFile describes a folder of DGL's CSVDataset.
const metaFile = "meta.yaml"

// dglMeta is what meta.yaml says.
type dglMeta struct {
	Separator string     `yaml:"separator"`
	Nodes     []dglTable `yaml:"node_data"`
	Edges     []dglTable `yaml:"edge_data"`
	Graphs    any        `yaml:"graph_data"`

	dir   string
	comma rune
}

// dglTable is a file of vertices or edges, and what its columns are called.
type dglTable struct {
	File    string `yaml:"file_name"`
	NodeID  string `yaml:"node_id_field"`
	SrcID   string `yaml:"src_id_field"`
	DstID   string `yaml:"dst_id_field"`
	GraphID string `yaml:"graph_id_field"`
}

// loadDGL reads a folder of DGL's CSVDataset: meta.yaml, a table of vertices with node_id and, each optional, feat, label, train_mask,
// val_mask and test_mask, and a table of edges with src_id, dst_id and perhaps weight. Vertices are sorted by id, as DGL does. Edges
// are directed unless Options.Edges says otherwise. Data of several types or graphs are refused.
//
// Source: DGL user guide, 4.6 Loading data from CSV files; dgl.data.csv_dataset_base.
func loadDGL(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(dir), Format: formatDGL}
	meta, err := readDGLMeta(dir)
	if err != nil {
		return nil, err
	}
	d.Files = []string{metaFile, meta.Nodes[0].File, meta.Edges[0].File}
	ids, err := readDGLNodes(d, meta, opt)
	if err != nil {
		return nil, err
	}
	if err := readDGLEdges(d, meta, opt, ids); err != nil {
		return nil, err
	}
	noteDirected(d, opt)
	return d, nil
}

const (
	// maxMetaBytes and maxMetaNesting bound meta.yaml: the parser's memory grows with the square of some texts.
	maxMetaBytes   = 32 << 10
	maxMetaNesting = 256
)

// readDGLMeta reads meta.yaml of a data set of one graph of one type of vertices and edges.
func readDGLMeta(dir string) (*dglMeta, error) {
	path := filepath.Join(dir, metaFile)
	fault := func(format string, args ...any) error { return fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)) }
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMetaBytes+1))
	if err != nil {
		return nil, fault("%w", err)
	}
	nested := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("- "))
	if len(text) > maxMetaBytes || nested > maxMetaNesting || !utf8.Valid(text) {
		return nil, fault("is not what DGL's CSVDataset reads: want a text of at most %d bytes and %d lists", maxMetaBytes, maxMetaNesting)
	}
	m := &dglMeta{dir: dir}
	if err := m.parse(text); err != nil {
		first, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return nil, fault("%s", first)
	}
	switch {
	case len(m.Nodes) == 0 || len(m.Edges) == 0:
		return nil, fault("want node_data and edge_data, each with a file_name, as DGL's CSVDataset has them")
	case m.Graphs != nil:
		return nil, fault("has graph_data: data sets of several graphs are not read; write the files of one graph, without graph_id")
	case len(m.Nodes) > 1 || len(m.Edges) > 1:
		return nil, fault("has %d types of vertices and %d of edges; one of each is read: make one table of each",
			len(m.Nodes), len(m.Edges))
	}
	if m.Separator == "" {
		m.Separator = ","
	}
	comma, size := utf8.DecodeRuneInString(m.Separator)
	if size != len(m.Separator) || strings.ContainsRune("\"\r\n\ufffd", comma) {
		return nil, fault("separator %.20q: want one character, such as ',' or ';'", m.Separator)
	}
	m.comma = comma
	for _, t := range []*dglTable{&m.Nodes[0], &m.Edges[0]} {
		if !filepath.IsLocal(t.File) || strings.ContainsFunc(t.File, unicode.IsControl) {
			return nil, fault("file_name %.100q: want the name of a file in this folder", t.File)
		}
		for field, usual := range map[*string]string{&t.NodeID: "node_id", &t.SrcID: "src_id", &t.DstID: "dst_id", &t.GraphID: "graph_id"} {
			if *field == "" {
				*field = usual
			}
		}
	}
	return m, nil
}

// parse takes the text of meta.yaml. Aliases are refused: a few lines of them stand for more than any memory holds.
func (m *dglMeta) parse(text []byte) error {
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Type == token.AliasType {
			return errors.New("has aliases (*NAME): write out what they stand for")
		}
	}
	return yaml.Unmarshal(text, m)
}

// read reads a table of the folder.
func (m *dglMeta) read(t *dglTable, watch dataset.Watch, head, line func(s *sheet) error) error {
	first := ""
	graphs := -1
	return readSheet(filepath.Join(m.dir, t.File), m.comma, watch, func(s *sheet) error {
		graphs = s.column(t.GraphID)
		return head(s)
	}, func(s *sheet) error {
		if graphs >= 0 {
			if first == "" {
				first = strings.Clone(s.record[graphs])
			}
			if g := s.record[graphs]; g != first {
				return s.fault(graphs, "found graphs %.40q and %.40q: data sets of several graphs are not read", g, first)
			}
		}
		return line(s)
	})
}

// noteUnused says which columns of a table are not used.
func (m *dglMeta) noteUnused(d *dataset.Dataset, s *sheet, t *dglTable, used ...string) {
	used = append(used, t.GraphID)
	unused := slices.DeleteFunc(slices.Clone(s.columns), func(c string) bool { return slices.Contains(used, c) })
	if len(unused) > 0 {
		d.Note("%s: columns that are not used: %.200s", t.File, strings.ToValidUTF8(strings.Join(unused, ", "), "\ufffd"))
	}
}

// dglEdges is the table of edges.
type dglEdges struct {
	*dglMeta
	*dglTable
	d                *dataset.Dataset
	opt              dataset.Options
	ids              *dglIDs
	src, dst, weight int  // columns; weight -1: there is none, or it is ignored
	noted            bool // which columns are not used
	weighted         bool // a weight that is not 1 was seen
}

// readDGLEdges reads the table of edges: two or three times, as edge lists are.
func readDGLEdges(d *dataset.Dataset, meta *dglMeta, opt dataset.Options, ids *dglIDs) error {
	l := &dglEdges{dglMeta: meta, dglTable: &meta.Edges[0], d: d, opt: opt, ids: ids}
	bare := func(edge func(from, to graph.NodeID)) error {
		return l.each(func(from, to graph.NodeID, _ float32) { edge(from, to) })
	}
	vertices := func(*adjacency.RowCounts) (int, error) { return ids.n, nil }
	fault := func(err error) error {
		return &dataset.FormatError{File: filepath.Join(meta.dir, l.File), Offset: -1, Err: err}
	}
	if err := takeEdges(d, bare, opt, false, vertices, fault); err != nil || !l.weighted {
		return err
	}
	if err := takeWeights(d, l.each, edgesAs(opt, false), fault); err != nil {
		return err
	}
	d.Note("the column weight is read as weights of edges (--ignore-weights leaves them out)")
	return nil
}

// each reads the edges from the beginning of the table.
func (l *dglEdges) each(edge func(from, to graph.NodeID, weight float32)) error {
	return l.read(l.dglTable, l.opt.Watch, l.head, func(s *sheet) error {
		from, err := l.end(s, l.src)
		if err != nil {
			return err
		}
		to, err := l.end(s, l.dst)
		if err != nil {
			return err
		}
		w := float32(1)
		if l.weight >= 0 {
			if w, err = finite(s, l.weight, s.record[l.weight]); err != nil {
				return err
			}
			l.weighted = l.weighted || w != 1
		}
		edge(from, to, w)
		return nil
	})
}

// head finds the columns.
func (l *dglEdges) head(s *sheet) (err error) {
	if l.src, err = s.need(l.SrcID); err != nil {
		return err
	}
	if l.dst, err = s.need(l.DstID); err != nil {
		return err
	}
	if l.weight = s.column("weight"); l.opt.IgnoreWeights {
		l.weight = -1
	}
	if !l.noted {
		l.noteUnused(l.d, s, l.dglTable, l.SrcID, l.DstID, "weight")
		l.noted = true
	}
	return nil
}

// end returns the vertex whose id stands in a column.
func (l *dglEdges) end(s *sheet, column int) (graph.NodeID, error) {
	v, known := l.ids.place(s.record[column])
	if !known {
		return 0, s.fault(column, "%.60q is no %s of %s", s.record[column], l.Nodes[0].NodeID, l.Nodes[0].File)
	}
	return v, nil
}

// finite reads a number of a field as float32.
func finite(s *sheet, column int, field string) (float32, error) {
	x, ok := fields.Number(field)
	if !ok {
		return 0, s.fault(column, "found %.60q, want a finite number", field)
	}
	if math.Abs(x) > math.MaxFloat32 {
		return 0, s.fault(column, "value %.60s does not fit float32", field)
	}
	return float32(x), nil
}
