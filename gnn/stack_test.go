package gnn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/hostmem"
)

// task is a small problem: what a model is trained on, whole or block by block.
type task struct {
	g       *graph.CSR // with the loops that the model adds
	x       []float32  // Vertices × in
	labels  []int32
	targets []uint8 // Vertices × out; nil: one label per vertex
	roots   []int32 // training vertices
	loops   bool
	sparse  bool // features
}

// newTask draws a graph with a hub, vertices without neighbours, and edges in one direction.
func newTask(c Config, n int, seed uint64) *task {
	r := rand.New(rand.NewPCG(seed, 1))
	var edges []graph.Edge
	for range 6 * n {
		edges = append(edges, graph.Edge{From: int32(r.IntN(n - 9)), To: int32(r.IntN(n-9)) * int32(r.IntN(20)) % int32(n-9)})
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		panic(err)
	}
	t := &task{g: g.WithoutLoops(), loops: (c.Custom == nil && c.Kind.AddsLoops())}
	if t.loops {
		t.g = t.g.WithLoops()
	}
	for range n * c.In {
		t.x = append(t.x, float32(r.NormFloat64()))
	}
	for range n {
		t.labels = append(t.labels, int32(r.IntN(c.Out)))
	}
	if c.Multi {
		for range n * c.Out {
			t.targets = append(t.targets, uint8(r.IntN(2)))
		}
	}
	for _, v := range r.Perm(n)[:n/8] {
		t.roots = append(t.roots, int32(v))
	}
	return t
}

// renumbered returns the task with vertex v as perm[v].
func (t *task) renumbered(perm []int) *task {
	u := &task{loops: t.loops, sparse: t.sparse, x: make([]float32, len(t.x)), labels: make([]int32, len(t.labels)), targets: make([]uint8, len(t.targets))}
	in, out := len(t.x)/len(perm), len(t.targets)/len(perm)
	var edges []graph.Edge
	for v, w := range perm {
		for _, x := range t.g.Row(v) {
			edges = append(edges, graph.Edge{From: int32(perm[x]), To: int32(w)})
		}
		copy(u.x[w*in:], t.x[v*in:][:in])
		copy(u.targets[w*out:], t.targets[v*out:][:out])
		u.labels[w] = t.labels[v]
	}
	var err error
	if u.g, err = graph.FromEdges(len(perm), edges); err != nil {
		panic(err)
	}
	for _, v := range t.roots {
		u.roots = append(u.roots, int32(perm[v]))
	}
	return u
}

// block is one hop's rows over its columns; ratio is n/k by row, nil: all 1.
type block struct {
	cols    int
	begin   []int64
	indices []int32
	ratio   []float32
}

func (b *block) rows() int { return len(b.begin) - 1 }

// stack is the blocks of some roots, nearest to them first. Rows of a hop are the first ids, columns more of them.
type stack struct {
	roots  int
	ids    []int32
	blocks []block
}

// draw says which neighbours of v a hop keeps, and n/k.
type draw func(hop int, v int32, neighbours []int32) (kept []int32, ratio float32)

func everyone(_ int, _ int32, neighbours []int32) ([]int32, float32) { return neighbours, 1 }

// some keeps up to k neighbours, and v itself where loops are added.
func (t *task) some(k int, r *rand.Rand) draw {
	return func(_ int, v int32, neighbours []int32) ([]int32, float32) {
		var others, kept []int32
		for _, u := range neighbours {
			if t.loops && u == v {
				kept = append(kept, u)
				continue
			}
			others = append(others, u)
		}
		n := len(others)
		r.Shuffle(n, func(i, j int) { others[i], others[j] = others[j], others[i] })
		if n <= k {
			return append(kept, others...), 1
		}
		return append(kept, others[:k]...), float32(n) / float32(k)
	}
}

func (t *task) stack(roots []int32, hops int, keep draw) *stack {
	s := &stack{roots: len(roots), ids: slices.Clone(roots)}
	at := map[int32]int32{}
	for i, v := range s.ids {
		at[v] = int32(i)
	}
	for h := range hops {
		b := block{begin: []int64{0}}
		for _, v := range slices.Clone(s.ids) {
			kept, ratio := keep(h, v, t.g.Row(int(v)))
			for _, u := range kept {
				if _, ok := at[u]; !ok {
					at[u] = int32(len(s.ids))
					s.ids = append(s.ids, u)
				}
				b.indices = append(b.indices, at[u])
			}
			b.begin, b.ratio = append(b.begin, int64(len(b.indices))), append(b.ratio, ratio)
		}
		b.cols = len(s.ids)
		if !slices.ContainsFunc(b.ratio, func(x float32) bool { return x != 1 }) {
			b.ratio = nil
		}
		s.blocks = append(s.blocks, b)
	}
	return s
}

func (b *block) transposed() block {
	t := block{cols: b.rows(), begin: make([]int64, b.cols+1), indices: make([]int32, len(b.indices))}
	for _, c := range b.indices {
		t.begin[c+1]++
	}
	for c := range b.cols {
		t.begin[c+1] += t.begin[c]
	}
	next := slices.Clone(t.begin)
	for r := range b.rows() {
		for e := b.begin[r]; e < b.begin[r+1]; e++ {
			c := b.indices[e]
			t.indices[next[c]] = int32(r)
			next[c]++
		}
	}
	return t
}

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
		End: gpu.Array[int64]{Buf: begin, Off: 1, Len: b.rows()}, Indices: d.ints(b.indices), Val: d.vec(val), Entries: int64(len(b.indices))}
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
	return LayerGraph{Rows: b.rows(), Src: b.cols, Forward: Operand{Inner: d.csr(b, loops), RowScale: row, ColScale: col},
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

// trainer is a pass with its weights.
type trainer struct {
	*desk
	c             Config
	w             *Weights
	pass          *Pass
	ws            *Workspace
	params, grads *Params
	loss          gpu.Buffer
}

// train plans passes over blocks of the sizes of largest.
func (d *desk) train(c Config, p Plan, w *Weights, largest *step) *trainer {
	return d.passes(c, p, w, largest).alloc()
}

// passes is train without the memory.
func (d *desk) passes(c Config, p Plan, w *Weights, largest *step) *trainer {
	t := &trainer{desk: d, c: c, w: w, ws: NewWorkspace(gpu.Info{})}
	t.params, t.grads = Bind(w, d.vec(w.Flat)), Bind(w, d.vec(make([]float32, len(w.Flat))))
	t.pass = NewPass(c, p, largest.layers, largest.in, t.params, t.grads, t.ws)
	return t
}

// alloc gives the passes their memory.
func (t *trainer) alloc() *trainer {
	if err := t.ws.Alloc(t.dev); err != nil {
		panic(err)
	}
	t.loss = put(t.desk, []float64{0})
	return t
}

// result is what one step made.
type result struct {
	logits, grad []float32
	loss         float64
}

// equal reports whether two steps have the same bits and none that is NaN.
func (r result) equal(s result) bool {
	return r.loss == s.loss && slices.Equal(r.grad, s.grad) && slices.Equal(r.logits, s.logits)
}

// poison makes everything in the workspace NaN.
func (t *trainer) poison() {
	for _, s := range t.ws.slabs {
		n := int(s.Size / 4)
		t.q.Fill(gpu.Matrix{Buf: s.buf, Rows: 1, Cols: n, LD: n}, float32(math.NaN()))
	}
}

// run goes forward and backward through what the pass is bound to. The mean loss is over the roots, which are the first rows, or
// those of whole where the pass goes through whole.
func (t *trainer) run(u *task, s *step, whole []int32, epoch int) result {
	return t.runWith(u, s, whole, epoch, nil)
}

func (t *trainer) runWith(u *task, s *step, whole []int32, epoch int, halo Halo) result {
	t.q.Fill(gpu.Matrix{Buf: t.grads.Flat.Buf, Rows: 1, Cols: len(t.w.Flat), LD: len(t.w.Flat)}, 0)
	logits := t.pass.Forward(t.q, halo, epoch)
	r := result{logits: make([]float32, logits.Rows*t.c.Out), grad: make([]float32, len(t.w.Flat))}
	t.q.Download(hostmem.Bytes(r.logits), logits.Buf, 4*gpu.Bytes(logits.Off))
	a := gpu.LossArgs{Logits: logits, Grad: t.pass.LossGrad(), Loss: gpu.Array[float64]{Buf: t.loss, Len: 1}}
	ids, counts := s.roots, map[int32]bool{}
	if whole != nil {
		ids = whole
	}
	for _, v := range u.roots {
		counts[v] = true
	}
	if whole == nil {
		for _, v := range s.roots {
			counts[v] = true
		}
	}
	if t.c.Multi {
		var targets, mask []uint8
		for _, v := range ids {
			targets, mask = append(targets, u.targets[int(v)*t.c.Out:][:t.c.Out]...), append(mask, map[bool]uint8{true: 1}[counts[v]])
		}
		a.Targets, a.Mask = gpu.Array[uint8]{Buf: put(t.desk, targets), Len: len(targets)}, gpu.Array[uint8]{Buf: put(t.desk, mask), Len: len(mask)}
		a.Scale = 1 / float64(len(u.roots)*t.c.Out)
		t.q.BCELoss(a)
	} else {
		var labels []int32
		for _, v := range ids {
			y := int32(-1)
			if counts[v] {
				y = u.labels[v]
			}
			labels = append(labels, y)
		}
		a.Labels, a.Scale = t.ints(labels), 1/float64(len(u.roots))
		t.q.SoftmaxLoss(a)
	}
	t.pass.Backward(t.q, halo, epoch, nil)
	loss := []float64{0}
	t.q.Download(hostmem.Bytes(loss), t.loss, 0)
	t.q.Download(hostmem.Bytes(r.grad), t.grads.Flat.Buf, 0)
	if err := t.q.Sync(); err != nil {
		panic(err)
	}
	r.loss = loss[0]
	return r
}

// whole goes through the whole graph: every layer computes every row.
func (d *desk) whole(c Config, p Plan, w *Weights, u *task, ids []int32, epoch int) result {
	all := make([]int32, u.g.Rows())
	for v := range all {
		all[v] = int32(v)
	}
	hops := c.Layers
	if p.Input == Precomputed {
		hops--
	}
	s := d.step(c, p, u, u.stack(all, hops, everyone))
	s.in.IDs = d.ints(ids)
	if u.sparse {
		d.number(s, u.x, ids, c.In)
	}
	return d.train(c, p, w, s).run(u, s, all, epoch)
}

func name(c Config, p Plan) string {
	return fmt.Sprintf("%s, %d layers, norm %t, residual %t, jumping %t, %s, %v, multi %t, %v, %+v", c.Kind, c.Layers, !c.NoNorm, c.Residual, c.Jumping, c.Activation, p.Input, c.Multi, p.Storage, p.Layers)
}
