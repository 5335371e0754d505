package prediction

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/internal/atomicfile"
	"capgnn/internal/npy"
)

// table is predicted rows by vertex: one of float, class and flags. Host memory holds it once.
type table struct {
	rows, cols int
	width      int                // of labels: the columns of logits
	column     string             // of the header, with its number behind it if there are several
	float      []float32          // rows × cols: logits, embeddings
	class      []int64            // rows: one label per vertex
	flags      []uint8            // rows × cols: 0 or 1, several labels per vertex
	names      []string           // of the classes, which .csv files have beside numbers of labels, and above probabilities and several labels; nil: not known
	id         func(v int) string // original id of a vertex, in .csv files; nil: its number
	sets       *runfolder.Sets    // in which vertices are, in .csv files; nil: not known
	only       string             // the set of which .csv files have the vertices; "": all
	unfinite   []graph.NodeID     // vertices whose values, or logits, have a NaN or an infinite number
}

// probability begins the names of columns of probabilities, hidden those of embeddings.
const (
	probability = "p_"
	hidden      = "h_"
)

// newRows returns a table of logits, which may become probabilities, or embeddings, which it keeps.
func newRows(what string, values []float32, vertices int) *table {
	t := &table{rows: vertices, cols: len(values) / vertices, column: "logit_", float: values}
	for v := range vertices {
		t.look(graph.NodeID(v), values[v*t.cols:][:t.cols])
	}
	switch what {
	case Embeddings:
		t.column = hidden
	case Probabilities:
		t.column = probability
	}
	return t
}

// probabilities makes probabilities of logits: p_c = exp(z_c) / Σ exp(z), where vertices have several labels 1 / (1 + exp(-z_c)). Sums are of float64, of
// differences to the largest logit, which do not overflow. A row with a NaN is NaN throughout, with several labels that element alone.
func (t *table) probabilities(multi bool) {
	if multi {
		for i, z := range t.float {
			t.float[i] = float32(1 / (1 + math.Exp(-float64(z))))
		}
		return
	}
	wide := make([]float64, t.cols)
	for at := 0; at < len(t.float); at += t.cols {
		row, sum := t.float[at:at+t.cols], 0.0
		most := float64(slices.Max(row)) // NaN if one is
		for c, z := range row {
			wide[c] = math.Exp(float64(z) - most)
			sum += wide[c]
		}
		for c, x := range wide {
			row[c] = float32(x / sum)
		}
	}
}

// newLabels returns a table for the labels of vertices with that many classes.
func newLabels(rows, classes int, multi bool) *table {
	if multi {
		return &table{rows: rows, cols: classes, width: classes, column: "label_", flags: make([]uint8, rows*classes)}
	}
	return &table{rows: rows, cols: 1, width: classes, column: "label", class: make([]int64, rows)}
}

// put stores the labels of some vertices, by their logits.
func (t *table) put(ids []graph.NodeID, logits []float32) {
	for i, v := range ids {
		row := logits[i*t.width:][:t.width]
		t.look(v, row)
		if t.flags == nil {
			t.class[v] = largest(row)
			continue
		}
		for c, z := range row {
			if z > 0 {
				t.flags[int(v)*t.cols+c] = 1
			}
		}
	}
}

// look keeps a vertex whose values are not all finite.
func (t *table) look(v graph.NodeID, row []float32) {
	if slices.ContainsFunc(row, func(x float32) bool { return x-x != 0 }) {
		t.unfinite = append(t.unfinite, v)
	}
}

// note says of how many of the vertices that are written the values, or the logits of labels and probabilities, are not finite; "": of none.
func (t *table) note() string {
	bad := slices.DeleteFunc(slices.Clone(t.unfinite), func(v graph.NodeID) bool { return !t.writes(int(v)) })
	if len(bad) == 0 {
		return ""
	}
	what := "logits"
	if t.column == hidden {
		what = "embeddings"
	}
	rows, _ := t.size()
	return fmt.Sprintf("note: %s of %s of %s are NaN or infinite, of vertex %d first: "+
		"sums overflow where features are far larger than those of the training",
		what, term.Grouped(len(bad)), term.Counted(rows, "vertex"), slices.Min(bad))
}

// largest returns the class with the largest logit as gnn.Accuracy counts it: of equals the first, never a NaN; -1 if all
// are NaN.
func largest(row []float32) int64 {
	best := -1
	for c, z := range row {
		if z == z && (best < 0 || z > row[best]) {
			best = c
		}
	}
	return int64(best)
}

// size returns the rows that are written and the columns.
func (t *table) size() (rows, cols int) {
	for v := range t.rows {
		if t.writes(v) {
			rows++
		}
	}
	return rows, t.cols
}

// writes reports whether the row of vertex v is written.
func (t *table) writes(v int) bool { return t.only == "" || t.sets.In(v, t.only) }

// write writes the table as its name says: .npy, else .csv, with a header.
func (t *table) write(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if !strings.EqualFold(filepath.Ext(path), ".npy") {
			return t.csv(w)
		}
		shape := []int{t.rows, t.cols}
		switch {
		case t.float != nil:
			return npy.Write(w, shape, t.float)
		case t.flags != nil:
			return npy.Write(w, shape, t.flags)
		}
		return npy.Write(w, shape[:1], t.class)
	})
}

// csv writes one line per vertex; numbers read back as the same float32.
func (t *table) csv(out io.Writer) error {
	w := bufio.NewWriter(out)
	w.WriteString(t.header())
	var line []byte
	for v := range t.rows {
		if !t.writes(v) {
			continue
		}
		line = strconv.AppendInt(line[:0], int64(v), 10)
		if t.id != nil {
			line = append(append(line, ','), csvField(t.id(v))...)
		}
		if t.sets != nil {
			line = append(append(line, ','), t.sets.Of(v)...)
		}
		for c := range t.cols {
			line = append(line, ',')
			switch {
			case t.float != nil:
				line = strconv.AppendFloat(line, float64(t.float[v*t.cols+c]), 'g', -1, 32)
			case t.flags != nil:
				line = append(line, '0'+t.flags[v*t.cols+c])
			default:
				line = strconv.AppendInt(line, t.class[v], 10)
				if t.names != nil {
					line = append(append(line, ','), csvField(t.className(v))...)
				}
			}
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("row %d: %w", v, err)
		}
	}
	return w.Flush()
}

// header returns the first line of a .csv file.
func (t *table) header() string {
	line := "vertex"
	if t.id != nil {
		line += ",id"
	}
	if t.sets != nil {
		line += ",split"
	}
	for c := range t.cols {
		switch {
		case t.class != nil:
			line += "," + t.column
		case (t.column == probability || t.flags != nil) && len(t.names) == t.cols:
			line += "," + csvField(t.column+t.names[c])
		default:
			line += "," + t.column + strconv.Itoa(c)
		}
	}
	if t.class != nil && t.names != nil {
		line += ",class"
	}
	return line + "\n"
}

// className returns the name of a vertex's class, "" where no class was told.
func (t *table) className(v int) string {
	if c := t.class[v]; c >= 0 && int(c) < len(t.names) {
		return t.names[c]
	}
	return ""
}

// csvField quotes a text where a field needs it.
func csvField(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
