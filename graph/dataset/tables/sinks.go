package tables

import (
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/atomicfile"
	"capgnn/internal/npy"
)

// textSink writes features.csv. Numbers stand there as they do in the table.
type textSink struct {
	out    *textfile.Table
	r      *featureRows
	fields []string
}

func createText(dir string, r *featureRows) (*textSink, error) {
	out, err := textfile.CreateTable(dir, "features.csv", r.names...)
	if err == nil && textfile.HeadName(r.names[0]) != r.names[0] { // so that a column keeps its name wherever it stands
		err = writeNames(dir, fields.ColumnsFile, "column", r.names)
	}
	return &textSink{out: out, r: r, fields: make([]string, len(r.names))}, err
}

func (s *textSink) row(_ int, dense []string, extras []extra) error {
	for k := copy(s.fields, dense); k < len(s.fields); k++ {
		s.fields[k] = "0"
	}
	for _, e := range extras {
		s.fields[e.column] = strconv.FormatFloat(float64(e.value), 'g', -1, 32)
	}
	return s.out.Line(s.fields...)
}

func (s *textSink) close() error { return s.out.Close() }

// sparseSink writes features.npz, as scipy.sparse.save_npz does, and columns.csv.
type sparseSink struct {
	dir string
	r   *featureRows
	f   dataset.Features
}

func (s *sparseSink) row(line int, dense []string, extras []extra) error {
	for k, text := range dense {
		x, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return err
		}
		s.add(k, float32(x))
	}
	if m := s.r.matrix; m != nil {
		for k := range m.cols {
			s.add(len(dense)+k, float32(m.at(line, k)))
		}
	}
	for _, e := range extras {
		s.add(e.column, e.value)
	}
	s.f.Indptr = append(s.f.Indptr, int64(len(s.f.Indices)))
	return nil
}

func (s *sparseSink) add(column int, x float32) {
	if x != 0 {
		s.f.Indices, s.f.Data = append(s.f.Indices, int32(column)), append(s.f.Data, x)
	}
}

func (s *sparseSink) close() error {
	if err := writeNames(s.dir, fields.ColumnsFile, "column", s.r.names); err != nil {
		return err
	}
	return npy.WriteArchiveFile(filepath.Join(s.dir, "features.npz"), []npy.Entry{
		{Key: "indices", Data: s.f.Indices}, {Key: "indptr", Data: s.f.Indptr}, {Key: "format", Shape: []int{}, Data: []string{"csr"}},
		{Key: "shape", Data: []int64{int64(len(s.f.Indptr) - 1), int64(s.f.Cols)}}, {Key: "data", Data: s.f.Data},
	}, npy.Archiving{Deflate: true})
}

// arraySink writes features.npy, and columns.csv: columns of the table beside a matrix. It keeps those of the table.
type arraySink struct {
	dir    string
	r      *featureRows
	lines  []int     // that are written
	beside []float64 // what stands beside the matrix, row by row
}

func (s *arraySink) row(line int, dense []string, extras []extra) error {
	s.lines = append(s.lines, line)
	for _, text := range dense {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		s.beside = append(s.beside, x)
	}
	first := len(dense) + s.r.matrix.cols
	at := len(s.beside)
	s.beside = append(s.beside, make([]float64, len(s.r.names)-first)...)
	for _, e := range extras {
		s.beside[at+e.column-first] = float64(e.value)
	}
	return nil
}

func (s *arraySink) close() error {
	if err := writeNames(s.dir, fields.ColumnsFile, "column", s.r.names); err != nil {
		return err
	}
	m, cols := s.r.matrix, len(s.r.names)
	wide := m.wide || slices.ContainsFunc(s.r.dense, func(i int) bool { return s.r.s.c.all[i].coarse })
	row, narrow := make([]float64, cols), make([]float32, cols)
	return atomicfile.Write(filepath.Join(s.dir, "features.npy"), func(w io.Writer) error {
		return npy.WritePieces(w, []int{len(s.lines), cols}, func(put func(data any) error) error {
			for v, line := range s.lines {
				beside := s.beside[v*(cols-m.cols) : (v+1)*(cols-m.cols)]
				copy(row, beside[:s.r.width])
				for k := range m.cols {
					row[s.r.width+k] = m.at(line, k)
				}
				copy(row[s.r.width+m.cols:], beside[s.r.width:])
				for k, x := range row {
					narrow[k] = float32(x)
				}
				var piece any = narrow
				if wide {
					piece = row
				}
				if err := put(piece); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
