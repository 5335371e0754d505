package gnn

import (
	"encoding/binary"
	"math"

	"capgnn/gpu"
	"capgnn/model"
)

// whole is a sum over all vertices, one row that is the same at all parts: of rows x, or of x ⊗ y, whose columns are
// those of a matrix, row by row. Without x it is the number of rows.
type whole struct{ x, y *node }

// applied is the product of rows and a matrix that is one row, row by row: x·by, or x·byᵀ. Without by it is x, one row, as
// a matrix of so many rows that is transposed.
type applied struct {
	x, by *node
	turn  bool
	rows  int
}

// overAll makes n the sum over all vertices that value i is, if it is one.
func (f *fusion) overAll(n *node, i int) bool {
	at := &f.Nodes[i]
	rows := func(k int) *node {
		x := at.In[k]
		f.refuse(x, f.Nodes[x].Space == model.Vertices)
		return f.rows(x)
	}
	switch {
	case at.Op == model.Const && at.What == model.VertexNum:
		n.whole = &whole{}
	case at.Op == model.SumAll:
		n.whole = &whole{x: rows(0)}
	case at.Op == model.Product && f.Reduces(i):
		f.refuse(i, sameSpec(at.Spec, "na,nb->ab"), known)
		n.whole = &whole{x: rows(0), y: rows(1)}
	default:
		return false
	}
	return true
}

// sameSpec reports whether specs are the same but for the letters of axes.
func sameSpec(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	to, from := map[byte]byte{'n': 'n'}, map[byte]byte{'n': 'n'}
	for k := range len(a) {
		x, y := a[k], b[k]
		if letter := 'a' <= x && x <= 'z'; !letter && x != y {
			return false
		} else if !letter {
			continue
		}
		if to[x] == 0 && from[y] == 0 {
			to[x], from[y] = y, x
		}
		if to[x] != y || from[y] != x {
			return false
		}
	}
	return true
}

// byMatrix makes n the product of rows and a matrix of one value for all that value i is, if it is one.
func (f *fusion) byMatrix(n *node, i int) bool {
	at := &f.Nodes[i]
	made := at.Op == model.Linear && !f.byTensor(i)
	turn := made || sameSpec(at.Spec, "na,ba->nb")
	if !made && at.Op != model.Product || !turn && !sameSpec(at.Spec, "na,ab->nb") {
		return false
	}
	if len(at.In) == 3 {
		n.bias = f.tensor(at.In[2], n.cols)
	}
	n.applied = &applied{x: f.rows(at.In[0]), by: f.single(at.In[1]), turn: turn}
	return true
}

// byTensor reports whether value i, a linear, multiplies with a tensor, and not with what is made of tensors.
func (f *fusion) byTensor(i int) bool {
	w := f.in(i, 1)
	return f.op(w) == model.Param || f.op(w) == model.Stop && frozen(f.Program, f.in(w, 0))
}

// sums are the numbers of all parts, of which each gets the sum.
type sums struct{ own, out []byte }

// add makes the sum, in float64 and part order.
func (s *sums) add(parts [][]byte) {
	for at := 0; at < len(s.out); at += 4 {
		x := 0.0
		for _, b := range parts {
			x += float64(floatIn(b[at:]))
		}
		binary.NativeEndian.PutUint32(s.out[at:], math.Float32bits(float32(x)))
	}
}

// total appends what makes the row v that of all parts together.
func (d *derivation) total(v *value, reads []*value, first func(x *exec)) {
	s := &sums{make([]byte, 4*v.cols), make([]byte, 4*v.cols)}
	d.op(reads, list(v), func(x *exec) {
		first(x)
		x.q.Download(s.own, v.m.Buf, 4*gpu.Bytes(v.m.Off))
		x.meet(s.own, s.add)
		x.q.Upload(v.m.Buf, 4*gpu.Bytes(v.m.Off), s.out)
	})
}

// matrixOf views a row as a matrix, row by row.
func matrixOf(m gpu.Matrix, rows int) gpu.Matrix {
	cols := m.Cols / rows
	return gpu.Matrix{Buf: m.Buf, Off: m.Off, Rows: rows, Cols: cols, LD: cols}
}

// sumAll appends a sum over all vertices.
func (d *derivation) sumAll(n *node) {
	w, z := n.whole, n.z
	n.h = z
	if w.x == nil {
		rows := d.rowsAt(n.level)
		d.total(z, nil, func(e *exec) { e.q.Fill(*z.m, float32(rows.in(e.layers))) })
		return
	}
	x := d.read(w.x, w.x.level)
	if w.y == nil {
		d.total(z, list(x.v), func(e *exec) { e.q.ColSum(vector(*z.m), x.dense(e), 0) })
		return
	}
	y := d.read(w.y, w.x.level)
	d.total(z, list(x.v, y.v), func(e *exec) {
		e.q.Gemm(gpu.GemmArgs{C: matrixOf(*z.m, w.x.cols), A: x.dense(e), B: y.dense(e), TransA: true})
	})
}

// sumAllBack appends the gradient of a sum over all vertices: every part has that of what its rows make of the sum.
func (d *derivation) sumAllBack(n *node, dy *value) {
	w := n.whole
	if w.x == nil {
		return
	}
	g := d.value(number(1), n.cols, gpu.FP32)
	d.total(g, list(dy), func(e *exec) { e.q.Copy(*g.m, *dy.m) })
	if w.y == nil {
		d.spreadRow(w.x, g)
		return
	}
	x, y := d.read(w.x, w.x.level), d.read(w.y, w.x.level)
	s := d.share(w.x, w.x.level)
	d.op(reading(s.v, s.add, g, y.v), list(s.v), func(e *exec) {
		m := matrixOf(*g.m, w.x.cols)
		e.q.Gemm(gpu.GemmArgs{C: s.at(e), A: y.dense(e), B: m, TransB: true, Beta: beta(s.add)})
	})
	t := d.share(w.y, w.x.level)
	d.op(reading(t.v, t.add, g, x.v), list(t.v), func(e *exec) {
		e.q.Gemm(gpu.GemmArgs{C: t.at(e), A: x.dense(e), B: matrixOf(*g.m, w.x.cols), Beta: beta(t.add)})
	})
}

// spreadRow appends a row as a share of the gradient of each row of what a node makes.
func (d *derivation) spreadRow(x *node, g *value) {
	s := d.share(x, x.level)
	d.op(reading(s.v, s.add, g), list(s.v), func(e *exec) {
		to := s.at(e)
		if !s.add {
			e.q.Fill(to, 0)
		}
		e.q.HeadMean(to, to, vector(*g.m)) // of one head: it adds the row
	})
}

// addRow appends z (+)= coef·x of a node with one row.
func (d *derivation) addRow(z *value, x *node, coef float64, add bool) {
	row, scaled, ones := d.read(x, 0), d.value(number(1), z.cols, gpu.FP32), d.value(number(1), z.cols, gpu.FP32)
	d.op(reading(z, add, row.v), list(z, scaled, ones), func(e *exec) {
		if x.cols == z.cols {
			e.q.Axpby(*scaled.m, float32(coef), row.dense(e), 0)
		} else { // one number for all columns
			e.q.Fill(*ones.m, float32(coef))
			e.q.Gemm(gpu.GemmArgs{C: *scaled.m, A: row.dense(e), B: *ones.m})
		}
		if !add {
			e.q.Fill(*z.m, 0)
		}
		e.q.HeadMean(*z.m, *z.m, vector(*scaled.m)) // of one head: it adds the row
	})
}

// collected appends the sum of rows, and of their columns where to has one.
func (d *derivation) collected(to *node, v *value) *value {
	sum := d.value(number(1), v.cols, gpu.FP32)
	d.op(list(v), list(sum), func(x *exec) { x.q.ColSum(vector(*sum.m), *v.m, 0) })
	if to.cols == v.cols {
		return sum
	}
	one, ones := d.value(number(1), 1, gpu.FP32), d.value(number(v.cols), 1, gpu.FP32)
	d.op(list(sum), list(one, ones), func(x *exec) {
		x.q.Fill(*ones.m, 1)
		x.q.Gemm(gpu.GemmArgs{C: *one.m, A: *sum.m, B: *ones.m})
	})
	return one
}

// apply appends the product of rows and a matrix that is made of sums.
func (d *derivation) apply(n *node) {
	a, z := n.applied, n.z
	x := d.read(a.x, n.level)
	if a.by == nil {
		n.h = z
		d.op(list(x.v), list(z), func(e *exec) { e.q.Transpose(matrixOf(*z.m, n.cols/a.rows), matrixOf(x.dense(e), a.rows)) })
		return
	}
	by := d.read(a.by, n.level)
	d.op(list(x.v, by.v), list(z), func(e *exec) {
		e.q.Gemm(gpu.GemmArgs{C: *z.m, A: x.dense(e), B: a.matrix(by.dense(e)), TransB: a.turn})
	})
	d.follow(n)
}

// matrix views the row of by as a matrix.
func (a *applied) matrix(row gpu.Matrix) gpu.Matrix {
	if a.turn {
		return matrixOf(row, row.Cols/a.x.cols)
	}
	return matrixOf(row, a.x.cols)
}

// applyBack appends its gradients: dx = dy·byᵀ, and xᵀ·dy.
func (d *derivation) applyBack(n *node, dy *value) {
	a := n.applied
	if a.by == nil {
		t := d.value(number(1), n.cols, gpu.FP32)
		d.op(list(dy), list(t), func(e *exec) { e.q.Transpose(matrixOf(*t.m, a.rows), matrixOf(*dy.m, n.cols/a.rows)) })
		d.addTo(a.x, n.level, 1, t)
		return
	}
	x, by := d.read(a.x, n.level), d.read(a.by, n.level)
	s := d.share(a.x, n.level)
	d.op(reading(s.v, s.add, dy, by.v), list(s.v), func(e *exec) {
		e.q.Gemm(gpu.GemmArgs{C: s.at(e), A: *dy.m, B: a.matrix(by.dense(e)), TransB: !a.turn, Beta: beta(s.add)})
	})
	if a.by.leaf != nil && a.by.leaf.matrix != nil {
		return
	}
	t := d.share(a.by, n.level)
	d.op(reading(t.v, t.add, dy, x.v), list(t.v), func(e *exec) {
		left, right := x.dense(e), *dy.m
		if a.turn {
			left, right = right, left
		}
		e.q.Gemm(gpu.GemmArgs{C: a.matrix(t.at(e)), A: left, B: right, TransA: true, Beta: beta(t.add)})
	})
}
