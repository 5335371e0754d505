package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/klauspost/compress/gzip"

	"capgnn/internal/npy"
)

// wheel is a graph of n vertices and k·n pairs, each given once: v and v + 1 + 7j², j < k. Distances differ, so no pair
// repeats.
type wheel struct{ n, k int }

func (w wheel) each(edge func(i, u, v int)) {
	for v := range w.n {
		for j := range w.k {
			edge(v*w.k+j, v, (v+1+7*j*j)%w.n)
		}
	}
}

func (w wheel) text(out io.Writer, sep string, both bool) error {
	b := bufio.NewWriter(out)
	var line []byte
	w.each(func(_, u, v int) {
		line = append(strconv.AppendInt(line[:0], int64(u), 10), sep...)
		line = append(strconv.AppendInt(line, int64(v), 10), '\n')
		b.Write(line)
		if both {
			line = append(strconv.AppendInt(line[:0], int64(v), 10), sep...)
			line = append(strconv.AppendInt(line, int64(u), 10), '\n')
			b.Write(line)
		}
	})
	return b.Flush()
}

// rows returns the arrays of a matrix with the pairs as entries.
func (w wheel) rows() (indptr, indices []int32) {
	indptr, indices = make([]int32, w.n+1), make([]int32, w.n*w.k)
	w.each(func(i, u, v int) { indptr[u+1], indices[i] = int32(i+1), int32(v) })
	return indptr, indices
}

// values returns n × cols numbers that compress as measured ones do.
func values(n, cols int) []float64 {
	x := make([]float64, n*cols)
	for i := range x {
		x[i] = math.Round(1e4*math.Sin(float64(i))) / 1e4
	}
	return x
}

func create(t *testing.T, path string, zip bool, write func(w io.Writer) error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !zip {
		err = write(f)
	} else {
		z, zerr := gzip.NewWriterLevel(f, 9)
		if err = zerr; err == nil {
			err = errors.Join(write(z), z.Close())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func archive(t *testing.T, path string, entries ...npy.Entry) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := npy.WriteArchiveFile(path, entries, npy.Archiving{Deflate: true}); err != nil {
		t.Fatal(err)
	}
}

// writePlanetoid writes the eight files of a data set with perRow features of each vertex, as float64: half of the vertices
// in allx, the other half in tx.
func writePlanetoid(t *testing.T, s *sandbox, g wheel, perRow int) {
	t.Helper()
	le := binary.LittleEndian
	var p []byte
	number := func(v int) { p = le.AppendUint32(append(p, 'J'), uint32(int32(v))) }
	text := func(v string) { p = append(append(p, 'U', byte(len(v))), v...) }
	array := func(typ string, raw []byte, shape ...int) {
		p = append(p, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01("...)
		for _, d := range shape {
			number(d)
		}
		p = append(p, "tcnumpy\ndtype\n"...)
		text(typ)
		p = append(p, "K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"...)
		p = append(append(le.AppendUint32(p, uint32(len(raw))), raw...), "tb"...)
	}
	file := func(what string) {
		create(t, s.path("plan/ind.plan."+what), false, func(w io.Writer) error { _, err := w.Write(append(p, '.')); return err })
		p = []byte("\x80\x02")
	}
	p = []byte("\x80\x02")
	matrix := func(rows int) {
		var indptr, indices, data []byte
		for r := range rows + 1 {
			indptr = le.AppendUint32(indptr, uint32(r*perRow))
		}
		for i := range rows * perRow {
			indices = le.AppendUint32(indices, uint32(i%perRow*3))
			data = le.AppendUint64(data, math.Float64bits(1))
		}
		p = append(p, "cscipy.sparse.csr\ncsr_matrix\n)\x81}("...)
		text("_shape")
		number(rows)
		number(3 * perRow)
		p = append(p, 0x86)
		text("indptr")
		array("i4", indptr, rows+1)
		text("indices")
		array("i4", indices, rows*perRow)
		text("data")
		array("f8", data, rows*perRow)
		p = append(p, "ub"...)
	}
	labels := func(rows int) {
		var raw []byte
		for i := range 2 * rows {
			raw = le.AppendUint32(raw, uint32(i%2))
		}
		array("i4", raw, rows, 2)
	}
	half := g.n / 2
	for what, rows := range map[string]int{"x": 140, "allx": half, "tx": half} {
		matrix(rows)
		file(what)
	}
	for what, rows := range map[string]int{"y": 140, "ally": half, "ty": half} {
		labels(rows)
		file(what)
	}
	p = append(p, "ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R("...)
	g.each(func(i, u, v int) {
		if i%g.k == 0 {
			number(u)
			p = append(p, "]("...)
		}
		number(v)
		if i%g.k == g.k-1 {
			p = append(p, 'e')
		}
	})
	p = append(p, 'u')
	file("graph")
	p = p[:0]
	for v := half; v < g.n; v++ {
		p = append(strconv.AppendInt(p, int64(v), 10), '\n')
	}
	p = p[:len(p)-1]
	create(t, s.path("plan/ind.plan.test.index"), false, func(w io.Writer) error { _, err := w.Write(p); return err })
}
