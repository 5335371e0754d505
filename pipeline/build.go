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

	picks   map[picked][]float32
	weights map[*graph.Block]weights
	values  map[*graph.CSR][][]float32 // of entries

	prepared     Prepared
	aggregateKey string // of the part's aggregated features, "": they are not kept
}

// weights are what the edges of a block weigh in the graph; nil: all are 1.
type weights struct{ inner, halo []float32 }

// operand returns the first rows of a block whose rows read columns or, turned, are read by them.
func (b *builder) operand(name string, block *graph.Block, turned bool, rows, cols, level int) gnn.Operand {
	ids, row, col, w := b.part.Inner, b.scale.Row, b.scale.Col, b.weigh(block, turned)
	if turned {
		row, col = col, row
	}
	op := gnn.Operand{
		RowScale:  upload(b.loader, name+" row scale", b.pick(row, ids)),
		ColScale:  upload(b.loader, name+" column scale", b.pick(col, ids)),
		HaloScale: upload(b.loader, name+" halo scale", b.pick(col, block.IDs)),
		Inner:     b.csr(name, block.Inner, rows, cols, w.inner, room{}),
		Halo:      b.haloCSR(name+" halo", block, rows, level, w.halo),
	}
	if b.model.DropsEdges() {
		op.HaloIDs = upload(b.loader, name+" halo ids", block.IDs)
	}
	return op
}

// weigh returns the weights of a block, each array made once.
func (b *builder) weigh(block *graph.Block, turned bool) weights {
	w, ok := b.weights[block]
	if ok || !b.p.Weighted() {
		return w
	}
	ids, h := b.part.Inner, &block.Halo
	c, row := block.Inner, func(r int) graph.NodeID { return ids[r] }
	w.inner = b.p.Weigh(nil, c.Indptr, c.Indices, row, ids, turned)
	row = func(k int) graph.NodeID { return ids[h.List[k]] }
	w.halo = b.p.Weigh(nil, h.Indptr, h.Indices, row, block.IDs, turned)
	made := b.values[block.Inner] // for another direction, or for what is not dropped
	if k := slices.IndexFunc(made, func(x []float32) bool { return slices.Equal(x, w.inner) }); k >= 0 {
		w.inner = made[k]
	} else {
		b.values[block.Inner] = append(made, w.inner)
	}
	b.weights[block] = w
	return w
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

// graphs returns what every layer aggregates over, for training (needed rows, both directions) and for evaluation.
func (b *builder) graphs() (train, eval []gnn.LayerGraph) {
	all := len(b.part.Inner)
	for l := range b.model.Layers {
		part := b.kept
		if l == 0 {
			part = b.part
		}
		rows, src := b.part.Rows[l+1], b.part.Rows[l]
		g := b.layer(part, rows, src)
		if b.plan.Layers[l].Returns {
			g.Backward = gnn.Operand{Inner: b.csr("backward", part.Out.Inner, src, rows, nil, room{})}
		} else if l > 0 || b.plan.Input != gnn.Precomputed { // nothing flows back to features whose aggregate is given
			g.Backward = b.operand("backward", &part.Out, true, src, rows, l+1)
		}
		if l == 0 && b.plan.Input == gnn.Replicated {
			g.HaloBack = b.haloBack(rows)
		}
		train = append(train, g)
		eval = append(eval, b.layer(b.part, all, all))
	}
	return train, eval
}

// layer returns what a layer that reads the first src rows and computes the first rows of them aggregates over,
// forward.
func (b *builder) layer(part *graph.Part, rows, src int) gnn.LayerGraph {
	g := gnn.LayerGraph{Rows: rows, Src: src, HaloRows: len(part.In.IDs)}
	g.Forward = b.operand("forward", &part.In, false, rows, len(part.Inner), -1)
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
		row := func(r int) graph.NodeID { return b.part.In.IDs[r] }
		val = b.p.Weigh(nil, t.Indptr, t.Indices, row, b.part.Inner, true)
	}
	return b.csr("replicated halo", t, t.Rows(), t.Cols, val, room{})
}

// input uploads features, aggregates them if the plan wants it, and returns what layer 0 reads.
func (b *builder) input(eval0 gnn.LayerGraph, src, rows int) gnn.Input {
	in := gnn.Input{IDs: upload(b.loader, "vertex ids", b.part.Inner)}
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
	in.AX = b.matrix("aggregated features", len(b.part.Inner), b.p.Features.Cols)
	if b.Failed != nil {
		return
	}
	streamed(in.AX.Buf)
	kept := b.fetchAggregate(in.AX)
	if b.Failed != nil || kept && !readsX {
		return
	}
	in.X.Dense = b.denseRows("features", b.part.Inner)
	if kept {
		return
	}
	halo := b.denseRows("halo features", b.part.In.IDs)
	if b.Failed != nil {
		return
	}
	gnn.AggregateInput(b.Compute, eval0.Forward, in.X.Dense, halo, in.AX)
	if b.Failed = b.Compute.Sync(); b.Failed != nil {
		return
	}
	b.Free(halo.Buf)
	if !readsX {
		b.Free(in.X.Dense.Buf)
		in.X.Dense.Buf = nil
	}
	b.keepAggregate(in.AX)
}

// denseRows uploads feature rows: straight from where they lie, or gathered.
func (b *builder) denseRows(name string, ids []graph.NodeID) gpu.Matrix {
	m := b.matrix(name, len(ids), b.p.Features.Cols)
	if b.drops {
		if b.space != nil && b.Failed == nil {
			b.space.Uploaded(m.Buf)
		}
		return m
	}
	if rows := b.p.LyingFeatures(ids); rows != nil && b.Failed == nil {
		b.send(m.Buf, 0, hostmem.Bytes(rows))
		return m
	}
	b.gather(m, 0, ids, b.p.FillFeatures)
	return m
}

// sparseRows uploads feature rows as CSR and, for the first src of them, its transpose; root is that of the first
// root rows.
func (c *contents) sparseRows(name string, ids []graph.NodeID, src, root int, most room) (
	f gnn.Features, rootT gpu.CSR) {
	rows := new(graph.CSR)
	c.p.SparseFeatures(rows, ids)
	n := rows.Indptr[src]
	head := &graph.CSR{Indptr: rows.Indptr[:src+1], Indices: rows.Indices[:n], Cols: rows.Cols,
		Weights: rows.Weights[:n]}
	t := head.Transpose()
	f = gnn.Features{Sparse: c.csr(name, rows, len(ids), rows.Cols, rows.Weights, most), Before: rows.Indptr}
	most.rows = t.Rows()
	f.SparseT = c.csr(name+" transposed", t, t.Rows(), t.Cols, t.Weights, most)
	if c.model.DropsFeatures() {
		n, nt := entryNumbers(ids, rows, t)
		f.Numbers = put(c.loader, name+" numbers", n, most.entries)
		f.NumbersT = put(c.loader, name+" transposed numbers", nt, most.entries)
	}
	if rootT = f.SparseT; root < src {
		ends, entries := rowEnds(t, t.Rows(), root)
		rootT.Cols, rootT.Entries, rootT.End = root, entries, put(c.loader, "root features row ends", ends, len(ends))
	}
	return f, rootT
}

// entryNumbers returns the numbers of the entries of feature rows, those that the transpose t has, and of t
// (gnn.EntryNumber).
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
	b.NewLoss(b.task, b.Alloc, len(ids), 1)
}

// answers puts what the loss reads of rows, of which there are at most so many, on the device. It counts those that
// counts says.
func (c *contents) answers(ids []graph.NodeID, most int, counts func(row int) bool) {
	c.compared = c.compared[:0]
	for _, t := range c.task.Targets(false) {
		c.compared = append(c.compared, put(c.loader, t.Name, t.Made(ids, counts), t.Size(most)))
	}
}
