package gnn

import "capgnn/gpu"

// op is an operation of a pass, or a few with nothing between them.
type op struct {
	run           func(x *exec)
	reads, writes []*value
}

// value is a matrix, or without columns a vector, that operations of a pass write and read.
type value struct {
	rows count
	cols int
	t    gpu.DType
	of   *value // the value whose columns it is, from lo on
	lo   int
	over []*value // it may lie where one of these does, which the operation that first writes it reads last
	m    *gpu.Matrix
	v    *gpu.Vec
}

// operand is rows that an operation reads: the first ones of a value, or given ones.
type operand struct {
	v     *value
	rows  count
	given func(x *exec) Features // of which v, if there is one, holds a part
}

func (o operand) get(x *exec) Features {
	if o.given != nil {
		return o.given(x)
	}
	return Features{Dense: o.v.m.RowRange(0, o.rows.in(x.layers))}
}

func (o operand) dense(x *exec) gpu.Matrix { return o.get(x).Dense }

// all returns all rows of a value.
func (v *value) all() operand { return operand{v: v, rows: v.rows} }

// inputHalo is the replicated features of halo vertices.
var inputHalo = operand{given: func(x *exec) Features { return x.in.Halo }}

// rowsAt counts the rows of a level: those that layer level reads.
func (p *Pass) rowsAt(level int) count {
	if level <= p.first {
		return p.srcOf(p.first)
	}
	return p.rowsOf(min(level, p.first+len(p.layers)) - 1)
}

func (d *derivation) value(rows count, cols int, t gpu.DType, over ...*value) *value {
	v := &value{rows: rows, cols: cols, t: t, over: over}
	d.values = append(d.values, v)
	return v
}

// wide requests FP32 rows.
func (d *derivation) wide(rows count, cols int) *value { return d.value(rows, cols, gpu.FP32) }

// op appends an operation. Values that are nil are none.
func (d *derivation) op(reads, writes []*value, run func(x *exec)) {
	d.ops = append(d.ops, op{run, present(reads), present(writes)})
}

func present(list []*value) (out []*value) {
	for _, v := range list {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

func list(v ...*value) []*value { return v }

// reading lists what an operation reads that adds to y, if it adds.
func reading(y *value, add bool, others ...*value) []*value {
	if add {
		return append(others, y)
	}
	return others
}

func beta(add bool) float32 {
	if add {
		return 1
	}
	return 0
}

// touch notes that the next operations read or write a tensor, and returns its name.
func (d *derivation) touch(name string) string {
	d.touched[d.params.of.Tensor(name).Layer] = true
	return name
}

// settle notes that all operations with the tensors touched so far are there.
func (d *derivation) settle() {
	for l := range d.touched {
		d.derived.done[l] = len(d.ops)
	}
	clear(d.touched)
}

func (d *derivation) vec(p *Params, name string) gpu.Vec { return p.vec(d.touch(name)) }

// weight returns the matrix of a term.
func (d *derivation) weight(p *Params, t *term) gpu.Matrix {
	w := p.mat(d.touch(t.w))
	if !t.mix {
		w = w.ColRange(t.lo, t.lo+d.cfg.width(t.x))
	}
	return w
}

// weight is what a product multiplies with: a tensor, or a value.
type weight struct {
	m gpu.Matrix
	v *value
}

func (w weight) at() gpu.Matrix {
	if w.v != nil {
		return *w.v.m
	}
	return w.m
}

// factor returns what a term multiplies with, times f.
func (d *derivation) factor(t *term, f float64) weight {
	switch {
	case t.mix:
		return weight{v: d.mixture(t, f)}
	case t.gain != "":
		return weight{v: d.diagonal(t)}
	}
	w := d.weight(d.params, t)
	if f == 1 {
		return weight{m: w}
	}
	v := d.value(number(w.Rows), w.Cols, gpu.FP32)
	d.op(nil, list(v), func(x *exec) { x.q.Axpby(*v.m, float32(f), w, 0) })
	return weight{v: v}
}

// element returns that of a term's gain.
func (d *derivation) element(p *Params, t *term) gpu.Vec { return d.vec(p, t.gain).Slice(t.at, t.at+1) }

// diagonal appends the identity times a term's gain.
func (d *derivation) diagonal(t *term) *value {
	g := d.element(d.params, t)
	one, w := d.value(number(t.x.cols), 1, gpu.FP32), d.value(number(t.x.cols), t.x.cols, gpu.FP32)
	d.op(nil, list(one, w), func(x *exec) {
		x.q.Fill(*one.m, 1)
		x.q.Fill(*w.m, 0)
		x.q.Gemm(gpu.GemmArgs{C: diagonalOf(*w.m), A: *one.m, B: number1(g)})
	})
	return w
}

// number1 returns a vector's first element as a matrix.
func number1(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: 1, LD: 1}
}

// diagonalOf returns the diagonal of a square matrix as a column.
func diagonalOf(m gpu.Matrix) gpu.Matrix {
	return gpu.Matrix{Buf: m.Buf, Off: m.Off, Rows: m.Rows, Cols: 1, LD: m.LD + 1}
}

// scale returns the ε of a term that adds (1 + ε)·x, on the device.
func (d *derivation) scale(t *term) (eps *value, at func() gpu.Vec) {
	if t.own.eps != "" {
		v := d.vec(d.params, t.own.eps)
		return nil, func() gpu.Vec { return v }
	}
	eps = d.value(number(1), 0, gpu.FP32)
	d.op(nil, list(eps), func(x *exec) {
		x.q.Fill(number1(*eps.v), float32(t.own.coef-1))
	})
	return eps, func() gpu.Vec { return *eps.v }
}

// fixed reports whether a term's sum over neighbours was made before the first epoch.
func (d *derivation) fixed(t *term) bool {
	return t.graph && t.x == nil && d.plan.Input == Precomputed
}

// read returns the rows of a level of what a node makes.
func (d *derivation) read(n *node, level int) operand {
	if n != nil && n.single && n.cut == nil {
		return d.readSingle(n)
	}
	rows := d.rowsAt(level)
	if n == nil {
		if level > 0 {
			return operand{v: d.kept, given: func(x *exec) Features { return x.own(rows.in(x.layers)) }}
		}
		return operand{v: d.kept, given: func(x *exec) Features { return x.features() }}
	}
	if n.begin >= 0 {
		return operand{given: func(x *exec) Features {
			return Features{Dense: x.in.X.Dense.RowRange(0, rows.in(x.layers)).ColRange(n.begin, n.begin+n.cols)}
		}}
	}
	if of := n.columns(); of != nil {
		o := d.read(of, level)
		return operand{v: o.v, given: func(x *exec) Features { return Features{Dense: o.dense(x).ColRange(n.lo, n.lo+n.cols)} }}
	}
	if d.given(n) {
		return operand{given: func(x *exec) Features { return Features{Dense: x.in.AX.RowRange(0, rows.in(x.layers))} }}
	}
	return operand{v: n.h, rows: rows}
}

// readSingle returns the row of a node that has one.
func (d *derivation) readSingle(n *node) operand {
	if n.leaf == nil || n.leaf.tensor == "" {
		return operand{v: n.h, rows: number(1)}
	}
	row := d.leafOf(d.params, n)
	return operand{given: func(x *exec) Features { return Features{Dense: row} }}
}

// columns returns the node whose columns a node is, nil if it makes rows.
func (n *node) columns() *node {
	if n.cut != nil {
		return n.cut
	}
	return n.of
}

// sparse reports whether what a node makes is sparse: the features may be.
func (d *derivation) sparse(n *node) bool { return n == nil && d.in.X.sparse() }
