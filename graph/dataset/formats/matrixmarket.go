package formats

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
)

const matrixBanner = "%%MatrixMarket"

func isMatrixFile(base string) bool { return suffix(".mtx", ".mtx.gz")(base) }

// isMatrixMarket reports whether a file begins as MatrixMarket files do.
func isMatrixMarket(head []byte) bool {
	return len(head) >= len(matrixBanner) && bytes.EqualFold(head[:len(matrixBanner)], []byte(matrixBanner))
}

// matrixText is a MatrixMarket file: a banner, comments, a line of rows, columns and entries, and the entries.
type matrixText struct {
	t                *textfile.Reader
	path             string
	weighted         bool // entries have a value
	symmetric        bool // an entry stands for its mirror image too
	n                int
	entries          int64
	sizeAt, sizeLine int64 // where the size stands
}

// loadMatrixMarket reads a square matrix A in the coordinate form, where an entry (i, j) is the edge i → j and its value the weight,
// directed unless it is stored as symmetric or Options.Edges says otherwise. Complex, skew-symmetric and dense matrices are refused.
// The text is read twice, with weights three times.
//
// Source: Boisvert, Pozo, Remington, The Matrix Market exchange formats, 1996.
func loadMatrixMarket(path string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(path), Format: formatMatrix}
	return d, textfile.Open(path, opt.Watch, func(t *textfile.Reader) error {
		m := &matrixText{t: t, path: path}
		weighted := false
		list := func(edge func(from, to graph.NodeID, weight float32)) error {
			return m.each(func(from, to graph.NodeID, weight float32) {
				if opt.IgnoreWeights {
					weight = 1
				}
				weighted = weighted || weight != 1
				edge(from, to, weight)
			})
		}
		bare := func(edge func(from, to graph.NodeID)) error {
			return list(func(from, to graph.NodeID, _ float32) { edge(from, to) })
		}
		vertices := func(c *adjacency.RowCounts) (int, error) {
			if limit := adjacency.MaxVertices(c.Edges); int64(m.n) > limit {
				return 0, t.FaultAt(m.sizeAt, m.sizeLine, "has %d entries for %d vertices; at most %d vertices are handled", m.entries, m.n, limit)
			}
			return m.n, nil
		}
		fault := func(err error) error { return t.Whole("%w", err) }
		if err := takeEdges(d, bare, opt, false, vertices, fault); err != nil {
			return err
		}
		if weighted {
			if err := takeWeights(d, list, edgesAs(opt, false), fault); err != nil {
				return err
			}
			d.Note("the values of the matrix are read as weights of edges (--ignore-weights leaves them out)")
		}
		if !m.symmetric {
			noteDirected(d, opt)
		}
		return nil
	})
}

// each reads the entries from the beginning of the text.
func (m *matrixText) each(edge func(from, to graph.NodeID, weight float32)) error {
	t := m.t
	if err := t.Restart(); err != nil {
		return err
	}
	if err := m.head(); err != nil {
		return err
	}
	seen := int64(0)
	for ; t.Next(); seen++ {
		if seen == m.entries {
			return t.Unexpected(fmt.Sprintf("the end of the file after %d entries", m.entries))
		}
		row, err := m.number("row", 1, int64(m.n), true)
		if err != nil {
			return err
		}
		column, err := m.number("column", 1, int64(m.n), m.weighted)
		if err != nil {
			return err
		}
		value := 1.0
		if m.weighted {
			if value, err = t.Number(32); err != nil {
				return err
			}
			if math.IsNaN(value) || math.IsInf(value, 0) {
				return t.Fault("the entry has the value %g; weights must be finite", value)
			}
			if more, err := t.Separator(); err != nil {
				return err
			} else if more {
				return t.Unexpected("the end of the line after row, column and value")
			}
		}
		from, to := graph.NodeID(row-1), graph.NodeID(column-1)
		edge(from, to, float32(value))
		if m.symmetric && from != to {
			edge(to, from, float32(value))
		}
	}
	if err := t.Finish(); err != nil {
		return err
	}
	if seen < m.entries {
		return t.Whole("number of entries: %d in the line of sizes, %d in the file", m.entries, seen)
	}
	return nil
}

// head reads the banner and the sizes.
func (m *matrixText) head() error {
	t := m.t
	banner := strings.Fields(strings.ToLower(t.Line()))
	if len(banner) != 5 || banner[0] != strings.ToLower(matrixBanner) || banner[1] != "matrix" {
		return t.FaultAt(0, 1, "want %s matrix coordinate real|integer|pattern general|symmetric; let an edge list be called .edges", matrixBanner)
	}
	form, field, symmetry := banner[2], strings.TrimPrefix(banner[3], "unsigned-"), banner[4]
	rewrite := ` A = scipy.io.mmread(IN); scipy.io.mmwrite("OUT.mtx", scipy.sparse.coo_array(A), symmetry="general")`
	m.weighted, m.symmetric = field != "pattern", symmetry == "symmetric"
	switch {
	case form != "coordinate":
	case field != "real" && field != "double" && field != "integer" && field != "pattern":
		rewrite = ` A = abs(scipy.io.mmread(IN)); scipy.io.mmwrite("OUT.mtx", A)`
	case symmetry != "general" && symmetry != "symmetric":
	default:
		return m.sizes()
	}
	kind := form + " " + field + " " + symmetry
	return t.FaultAt(0, 1, "is a matrix of the kind %q, which is not read: in Python:%s", kind, foreign{do: rewrite}.cure(m.path, ""))
}

// sizes reads the line of rows, columns and entries.
func (m *matrixText) sizes() error {
	t := m.t
	if !t.Next() {
		return t.Unexpected("rows, columns and entries")
	}
	rows, err := m.number("number of rows", 1, check.MaxDim, true)
	if err != nil {
		return err
	}
	m.sizeAt, m.sizeLine = t.TokenAt, t.TokenLine
	columns, err := m.number("number of columns", 1, check.MaxDim, true)
	if err != nil {
		return err
	}
	if rows != columns {
		return t.Fault("is %d × %d; want as many columns as rows, one for each vertex", rows, columns)
	}
	entries, err := m.number("number of entries", 0, math.MaxInt64, false)
	m.n, m.entries = int(rows), entries
	return err
}

// number reads a whole number and what stands behind it; more says whether the line must go on.
func (m *matrixText) number(what string, least, most int64, more bool) (int64, error) {
	t := m.t
	v, err := t.ID("a " + what)
	if err != nil {
		return 0, err
	}
	if v < least || v > most {
		return 0, t.Fault("%s %d is outside [%d, %d]", what, v, least, most)
	}
	goesOn, err := t.Separator()
	if err == nil && goesOn != more {
		err = t.Unexpected(map[bool]string{true: "another number", false: "the end of the line"}[more])
	}
	return v, err
}
