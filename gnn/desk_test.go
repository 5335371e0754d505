package gnn

import (
	"math"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
)

// desk is a device with what a step puts on it.
type desk struct {
	dev gpu.Device
	q   gpu.Queue
}

// newDesk opens a device whose fresh memory is NaN.
func newDesk(t testing.TB) *desk {
	t.Helper()
	d, err := host.Open(host.Spec{Threads: 1, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return &desk{d, d.NewQueue("compute")}
}

func put[T hostmem.Numeric](d *desk, x []T) gpu.Buffer {
	b, err := d.dev.Alloc(max(8, gpu.Bytes(len(hostmem.Bytes(x)))), "step")
	if err != nil {
		panic(err)
	}
	d.q.Upload(b, 0, hostmem.Bytes(slices.Clone(x)))
	return b
}

func (d *desk) vec(x []float32) gpu.Vec { return gpu.Vec{Buf: put(d, x), Len: len(x)} }
func (d *desk) ints(x []int32) gpu.Ints { return gpu.Ints{Buf: put(d, x), Len: len(x)} }
func (d *desk) matrix(x []float32, cols int) gpu.Matrix {
	return gpu.Matrix{Buf: put(d, x), Rows: len(x) / cols, Cols: cols, LD: cols}
}

func (d *desk) csr(b *block, val []float32) gpu.CSR {
	begin := put(d, b.begin)
	return gpu.CSR{Rows: b.rows(), Cols: b.cols, Begin: gpu.Array[int64]{Buf: begin, Len: b.rows()},
		End: gpu.Array[int64]{Buf: begin, Off: 1, Len: b.rows()}, Indices: d.ints(b.indices), Val: d.vec(val),
		Entries: int64(len(b.indices))}
}

// graph puts a block on the device.
func (d *desk) graph(c Config, s Scaling, ids []int32, b *block) LayerGraph {
	ratio := b.ratio
	if !c.Rescales() {
		ratio = nil
	}
	var loops, backLoops []float32
	back := b.transposed()
	if c.Symmetric() && ratio != nil {
		loops, backLoops = loopsOf(b.begin, b.indices, ratio), loopsOf(back.begin, back.indices, ratio)
	}
	row, col := d.vec(s.BlockRows(nil, ids[:b.rows()], ratio)), d.vec(s.BlockCols(nil, ids[:b.cols]))
	return LayerGraph{Rows: b.rows(), Src: b.cols,
		Forward:  Operand{Inner: d.csr(b, loops), RowScale: row, ColScale: col},
		Backward: Operand{Inner: d.csr(&back, backLoops), RowScale: col, ColScale: row}}
}

// step is what one step goes through.
type step struct {
	layers []LayerGraph
	in     Input
	roots  []int32
}

// step puts the blocks of a stack on the device, the last one first. With ÂX given, layer 0 has no block.
func (d *desk) step(c Config, p Plan, t *task, s *stack) *step {
	scale := ScalingOf(c, t.g.InDegree(), t.g.OutDegree())
	out := &step{roots: s.ids[:s.roots]}
	ids := s.ids
	if p.Input == Precomputed {
		ids = s.ids[:s.roots]
		if n := len(s.blocks); n > 0 {
			ids = s.ids[:s.blocks[n-1].cols]
		}
		out.layers = append(out.layers, LayerGraph{Rows: len(ids), Src: len(ids)})
		out.in.AX = d.rows(t.aggregated(scale, c.In), ids, c.In)
	}
	for _, b := range slices.Backward(s.blocks) {
		out.layers = append(out.layers, d.graph(c, scale, ids, &b))
	}
	if p.Input != Precomputed || c.ReadsOwn() {
		out.in.X.Dense = d.rows(t.x, ids, c.In)
	}
	if t.sparse {
		out.in.X, out.in.RootT = d.sparse(rowsOf(t.x, ids, c.In), c.In, out.layers[0].Rows)
		d.number(out, rowsOf(t.x, ids, c.In), ids, c.In)
	}
	out.in.IDs = d.ints(append(slices.Clone(ids), 0, 0, 0))
	return out
}

// rows puts rows of x on the device, in a buffer that has room for more, which is NaN.
func (d *desk) rows(x []float32, ids []int32, cols int) gpu.Matrix {
	return d.matrix(append(rowsOf(x, ids, cols), slices.Repeat([]float32{float32(math.NaN())}, 3*cols)...), cols)
}

// sparse puts features on the device as CSR, with its transpose, and that of the first rows.
func (d *desk) sparse(x []float32, cols, rows int) (f Features, rootT gpu.CSR) {
	all, before := nonZero(x, cols)
	f = Features{Sparse: d.csr(&all, values(x, cols, &all)), Before: before}
	back := all.transposed()
	f.SparseT = d.csr(&back, transposedValues(x, cols, &back))
	rootT, ends := f.SparseT, make([]int64, cols)
	rootT.Cols, rootT.Entries = rows, 0
	for j := range ends {
		for ends[j] = back.begin[j]; ends[j] < back.begin[j+1] && int(back.indices[ends[j]]) < rows; ends[j]++ {
			rootT.Entries++
		}
	}
	rootT.End = gpu.Array[int64]{Buf: put(d, ends), Len: cols}
	return f, rootT
}

// number gives the entries of a step's sparse features, which are x, their numbers.
func (d *desk) number(s *step, x []float32, ids []int32, cols int) {
	var numbers, numbersT []int32
	for i, v := range ids {
		for j := range cols {
			if x[i*cols+j] != 0 {
				numbers = append(numbers, EntryNumber(v, int32(j), cols))
			}
		}
	}
	for j := range cols {
		for i, v := range ids {
			if x[i*cols+j] != 0 {
				numbersT = append(numbersT, EntryNumber(v, int32(j), cols))
			}
		}
	}
	s.in.X.Numbers, s.in.X.NumbersT, s.layers[0].Stored = d.ints(numbers), d.ints(numbersT), len(numbers)
}

// nonZero returns the entries of x that are not 0, and how many there are before each row.
func nonZero(x []float32, cols int) (block, []int64) {
	b := block{cols: cols, begin: []int64{0}}
	for r := range len(x) / cols {
		for j, v := range x[r*cols:][:cols] {
			if v != 0 {
				b.indices = append(b.indices, int32(j))
			}
		}
		b.begin = append(b.begin, int64(len(b.indices)))
	}
	return b, b.begin
}

func values(x []float32, cols int, b *block) []float32 {
	var out []float32
	for r := range b.rows() {
		for _, j := range b.indices[b.begin[r]:b.begin[r+1]] {
			out = append(out, x[r*cols+int(j)])
		}
	}
	return out
}

func transposedValues(x []float32, cols int, back *block) []float32 {
	var out []float32
	for j := range back.rows() {
		for _, r := range back.indices[back.begin[j]:back.begin[j+1]] {
			out = append(out, x[int(r)*cols+j])
		}
	}
	return out
}

// rowsOf returns rows of x, cols wide.
func rowsOf(x []float32, ids []int32, cols int) []float32 {
	out := make([]float32, 0, len(ids)*cols)
	for _, v := range ids {
		out = append(out, x[int(v)*cols:][:cols]...)
	}
	return out
}

// aggregated returns ÂX.
func (t *task) aggregated(s Scaling, cols int) []float32 {
	out := make([]float32, len(t.x))
	at := func(x []float32, v int32) float64 {
		if x == nil {
			return 1
		}
		return float64(x[v])
	}
	for v := range int32(t.g.Rows()) {
		for j := range cols {
			sum := 0.0
			for _, u := range t.g.Row(int(v)) {
				sum += at(s.Row, v) * at(s.Col, u) * float64(t.x[int(u)*cols+j])
			}
			out[int(v)*cols+j] = float32(sum)
		}
	}
	return out
}
