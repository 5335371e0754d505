package pipeline

import (
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// contents is what a worker puts on its device, for a part or for one pair after another.
type contents struct {
	*worker
	p     *learn.Problem
	model gnn.Config
	task  learn.Task
	plan  gnn.Plan
}

// builder puts one part on one device.
type builder struct {
	contents
	kept   *graph.Part // of the part, what Options.Dropped leaves: the part itself if that is all
	scale  gnn.Scaling
	sparse bool // features stay sparse on the device

	picks  map[picked][]float32
	values map[*graph.CSR][]float32 // of entries

	prepared     Prepared
	aggregateKey string // of the part's aggregated features, "": they are not kept
}

// adjacency is a part as one or more layers see it, with the edge weights of both directions.
type adjacency struct {
	part     *graph.Part
	forward  scales
	backward *scales // nil until a layer needs it
}

// scales are the edge weights of one block: scale vectors, and the values that edges have besides.
type scales struct {
	row, col, halo gpu.Vec
	inner, outer   []float32
}

// adjacency uploads the forward weights of a part.
func (b *builder) adjacency(part *graph.Part) *adjacency {
	return &adjacency{part: part, forward: b.scales("forward", &part.In, b.scale.Row, b.scale.Col, false)}
}

// scales returns the weights of a block whose rows read columns or, turned, are read by them.
func (b *builder) scales(name string, block *graph.Block, row, col []float32, turned bool) scales {
	ids := b.part.Inner
	rows, cols, halo := b.pick(row, ids), b.pick(col, ids), b.pick(col, block.IDs)
	inner, outer := b.weights(block, turned)
	return scales{row: upload(b.ld, name+" row scale", rows), col: upload(b.ld, name+" column scale", cols),
		halo: upload(b.ld, name+" halo scale", halo), inner: b.shared(block.Inner, inner), outer: outer}
}

// weights returns what the edges of a block weigh in the graph; nil: all are 1.
func (b *builder) weights(block *graph.Block, turned bool) (inner, outer []float32) {
	if !b.p.Weighted() {
		return nil, nil
	}
	ids, h := b.part.Inner, &block.Halo
	inner = b.p.Weigh(nil, block.Inner.Indptr, block.Inner.Indices, func(r int) graph.NodeID { return ids[r] }, ids, turned)
	outer = b.p.Weigh(nil, h.Indptr, h.Indices, func(k int) graph.NodeID { return ids[h.List[k]] }, block.IDs, turned)
	return inner, outer
}

// picked says which values of which vertices have been picked.
type picked struct {
	values *float32
	ids    *graph.NodeID
}

// pick is pick of the package, each result made once: so it is uploaded once.
func (b *builder) pick(x []float32, ids []graph.NodeID) []float32 {
	if x == nil || len(ids) == 0 {
		return nil
	}
	key := picked{&x[0], &ids[0]}
	if b.picks[key] == nil {
		b.picks[key] = pick(x, ids)
	}
	return b.picks[key]
}

// shared returns the values of a CSR's entries, nil for nil. Directions that share a CSR share them where they are equal.
func (b *builder) shared(c *graph.CSR, weight []float32) []float32 {
	if weight == nil {
		return nil
	}
	if shared := b.values[c]; slices.Equal(shared, weight) {
		return shared
	}
	b.values[c] = weight
	return weight
}

// graphs returns what every layer aggregates over, for training (needed rows, both directions) and for evaluation.
func (b *builder) graphs() (train, eval []gnn.LayerGraph) {
	whole := b.adjacency(b.part)
	kept := whole
	if b.kept != b.part {
		kept = b.adjacency(b.kept)
	}
	all := len(b.part.Inner)
	for l := range b.model.Layers {
		a := kept
		if l == 0 {
			a = whole
		}
		rows, src := b.part.Rows[l+1], b.part.Rows[l]
		g := b.layer(a, rows, src)
		if b.plan.Layers[l].Returns {
			g.Backward = gnn.Operand{Inner: b.ld.csr("backward", a.part.Out.Inner, src, rows, nil, room{})}
		} else if l > 0 || b.plan.Input != gnn.Precomputed { // nothing flows back to features whose aggregate is given
			g.Backward = b.back(a, src, rows, l+1)
		}
		if l == 0 && b.plan.Input == gnn.Replicated {
			g.HaloBack = b.haloBack(rows)
		}
		train = append(train, g)
		eval = append(eval, b.layer(whole, all, all))
	}
	return train, eval
}

// back returns the operand of a backward pass.
func (b *builder) back(a *adjacency, rows, cols, level int) gnn.Operand {
	if a.backward == nil {
		s := b.scales("backward", &a.part.Out, b.scale.Col, b.scale.Row, true)
		a.backward = &s
	}
	return b.operand("backward", &a.part.Out, a.backward, rows, cols, level)
}

func (b *builder) operand(name string, block *graph.Block, s *scales, rows, cols, level int) gnn.Operand {
	return gnn.Operand{
		Inner:    b.ld.csr(name, block.Inner, rows, cols, s.inner, room{}),
		Halo:     b.ld.haloCSR(name+" halo", block, rows, level, s.outer),
		RowScale: s.row, ColScale: s.col, HaloScale: s.halo,
	}
}

// layer returns what a layer that reads the first src rows and computes the first rows of them aggregates over, forward.
func (b *builder) layer(a *adjacency, rows, src int) gnn.LayerGraph {
	part := a.part
	g := gnn.LayerGraph{Rows: rows, Src: src, HaloRows: len(part.In.IDs)}
	g.Forward = b.operand("forward", &part.In, &a.forward, rows, len(part.Inner), -1)
	g.Forward.Inner.Cols = src // all that the needed rows read
	for _, r := range part.Central {
		if r.Lo < rows {
			g.Central = append(g.Central, gnn.RowRange{Lo: r.Lo, Hi: min(r.Hi, rows)})
		}
	}
	return g
}

// haloBack is the transpose of the forward halo part, for a replicated first layer.
func (b *builder) haloBack(rows int) gpu.CSR {
	t := b.part.In.Transpose(rows)
	var val []float32
	if b.p.Weighted() {
		val = b.p.Weigh(nil, t.Indptr, t.Indices, func(r int) graph.NodeID { return b.part.In.IDs[r] }, b.part.Inner, true)
	}
	return b.ld.csr("replicated halo", t, t.Rows(), t.Cols, val, room{})
}

// input uploads features, aggregates them if the plan wants it, and returns what layer 0 reads.
func (b *builder) input(eval0 gnn.LayerGraph, src, rows int) gnn.Input {
	in := gnn.Input{IDs: upload(b.ld, "vertex ids", b.part.Inner)}
	if b.sparse {
		in.X, in.RootT = b.sparseRows("features", b.part.Inner, src, rows, room{})
		if b.plan.Input == gnn.Replicated {
			in.Halo, _ = b.sparseRows("halo features", b.part.In.IDs, len(b.part.In.IDs), len(b.part.In.IDs), room{})
		}
		return in
	}
	if b.plan.Input == gnn.Precomputed {
		b.precomputed(&in, eval0)
		return in
	}
	in.X.Dense = b.denseRows("features", b.part.Inner)
	if b.plan.Input == gnn.Replicated {
		in.Halo.Dense = b.denseRows("halo features", b.part.In.IDs)
	}
	return in
}

// precomputed makes or fetches the aggregated features, and uploads the features where the model reads them too.
func (b *builder) precomputed(in *gnn.Input, eval0 gnn.LayerGraph) {
	readsX := b.model.ReadsOwn()
	in.AX = b.ld.matrix("aggregated features", len(b.part.Inner), b.p.Features.Cols)
	if b.ld.err != nil {
		return
	}
	streamed(in.AX.Buf)
	kept := b.fetchAggregate(in.AX)
	if b.ld.err != nil || kept && !readsX {
		return
	}
	in.X.Dense = b.denseRows("features", b.part.Inner)
	if kept {
		return
	}
	halo := b.denseRows("halo features", b.part.In.IDs)
	if b.ld.err != nil {
		return
	}
	gnn.AggregateInput(b.Compute, eval0.Forward, in.X.Dense, halo, in.AX)
	if b.ld.err = b.Compute.Sync(); b.ld.err != nil {
		return
	}
	b.ld.free(halo.Buf)
	if !readsX {
		b.ld.free(in.X.Dense.Buf)
		in.X.Dense.Buf = nil
	}
	b.keepAggregate(in.AX)
}

// denseRows uploads feature rows: straight from where they lie, or gathered.
func (b *builder) denseRows(name string, ids []graph.NodeID) gpu.Matrix {
	m := b.ld.matrix(name, len(ids), b.p.Features.Cols)
	if b.ld.drops {
		return m
	}
	if rows := b.p.LyingFeatures(ids); rows != nil && b.ld.err == nil {
		b.ld.send(m.Buf, 0, hostmem.Bytes(rows))
		return m
	}
	b.ld.gather(m, 0, ids, b.p.FillFeatures)
	return m
}

// sparseRows uploads feature rows as CSR and, for the first src of them, its transpose; root is that of the first root rows.
func (c *contents) sparseRows(name string, ids []graph.NodeID, src, root int, most room) (f gnn.Features, rootT gpu.CSR) {
	rows := new(graph.CSR)
	c.p.SparseFeatures(rows, ids)
	n := rows.Indptr[src]
	t := (&graph.CSR{Indptr: rows.Indptr[:src+1], Indices: rows.Indices[:n], Cols: rows.Cols, Weights: rows.Weights[:n]}).Transpose()
	f = gnn.Features{Sparse: c.ld.csr(name, rows, len(ids), rows.Cols, rows.Weights, most), Before: rows.Indptr}
	most.rows = t.Rows()
	f.SparseT = c.ld.csr(name+" transposed", t, t.Rows(), t.Cols, t.Weights, most)
	if c.model.DropsFeatures() {
		n, nt := entryNumbers(ids, rows, t)
		f.Numbers, f.NumbersT = put(c.ld, name+" numbers", n, most.entries), put(c.ld, name+" transposed numbers", nt, most.entries)
	}
	if rootT = f.SparseT; root < src {
		ends, entries := rowEnds(t, t.Rows(), root)
		rootT.Cols, rootT.Entries, rootT.End = root, entries, put(c.ld, "root features row ends", ends, len(ends))
	}
	return f, rootT
}

// entryNumbers returns the numbers of the entries of feature rows, those that the transpose t has, and of t (gnn.EntryNumber).
func entryNumbers(ids []graph.NodeID, rows, t *graph.CSR) (of, ofT []int32) {
	of, ofT = make([]int32, rows.Indptr[t.Cols]), make([]int32, len(t.Indices))
	for r, v := range ids[:t.Cols] {
		for e := rows.Indptr[r]; e < rows.Indptr[r+1]; e++ {
			of[e] = gnn.EntryNumber(v, rows.Indices[e], rows.Cols)
		}
	}
	for c := range t.Rows() {
		for e := t.Indptr[c]; e < t.Indptr[c+1]; e++ {
			ofT[e] = gnn.EntryNumber(ids[t.Indices[e]], int32(c), rows.Cols)
		}
	}
	return of, ofT
}

// targets uploads what the loss reads of the rows that it needs, of which it counts those of training vertices.
func (b *builder) targets() {
	ids := b.part.Inner[:b.part.Rows[b.model.Layers]]
	b.answers(ids, len(ids), func(row int) bool { return b.p.Trains(ids[row]) })
	b.newLoss(b.task, len(ids))
}

// answers puts what the loss reads of rows, of which there are at most so many, on the device. It counts those that counts says.
func (c *contents) answers(ids []graph.NodeID, most int, counts func(row int) bool) {
	c.compared = c.compared[:0]
	for _, t := range c.task.Targets(false) {
		c.compared = append(c.compared, put(c.ld, t.Name, t.Made(ids, counts), t.Size(most)))
	}
}
