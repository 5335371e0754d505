package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"capgnn/graph"
	"capgnn/internal/atomicfile"
	"capgnn/internal/npy"
)

// table is predicted rows by vertex: one of float, class and flags. Host memory holds it once.
type table struct {
	rows, cols int
	width      int       // columns of the rows that the network gives
	column     string    // of the header, with its number behind it if there are several
	float      []float32 // rows × cols: logits, embeddings
	class      []int64   // rows: one label per vertex
	flags      []uint8   // rows × cols: 0 or 1, several labels per vertex
}

func newTable(what string, rows, width int, multi bool) *table {
	t := &table{rows: rows, cols: width, width: width}
	switch {
	case what == whatLabels && multi:
		t.column, t.flags = "label_", make([]uint8, rows*width)
	case what == whatLabels:
		t.column, t.cols, t.class = "label", 1, make([]int64, rows)
	case what == whatEmbeddings:
		t.column, t.float = "h_", make([]float32, rows*width)
	default:
		t.column, t.float = "logit_", make([]float32, rows*width)
	}
	return t
}

// put stores what the network gives for some vertices.
func (t *table) put(ids []graph.NodeID, rows []float32) {
	for i, v := range ids {
		row := rows[i*t.width:][:t.width]
		switch {
		case t.float != nil:
			copy(t.float[int(v)*t.cols:], row)
		case t.flags != nil:
			for c, z := range row {
				if z > 0 {
					t.flags[int(v)*t.cols+c] = 1
				}
			}
		default:
			t.class[v] = largest(row)
		}
	}
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

// write writes the table as its name says: .csv with a header, else .npy.
func (t *table) write(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(path), ".csv") {
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
	w.WriteString("vertex")
	for c := range t.cols {
		w.WriteString("," + t.column)
		if t.class == nil {
			w.WriteString(strconv.Itoa(c))
		}
	}
	w.WriteByte('\n')
	var line []byte
	for v := range t.rows {
		line = strconv.AppendInt(line[:0], int64(v), 10)
		for c := range t.cols {
			line = append(line, ',')
			switch {
			case t.float != nil:
				line = strconv.AppendFloat(line, float64(t.float[v*t.cols+c]), 'g', -1, 32)
			case t.flags != nil:
				line = append(line, '0'+t.flags[v*t.cols+c])
			default:
				line = strconv.AppendInt(line, t.class[v], 10)
			}
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("row %d: %w", v, err)
		}
	}
	return w.Flush()
}
