package layered

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/memory"
	"capgnn/minibatch/sample"
)

// task is one way over all vertices: a layer, or ÂX.
type task struct {
	layer     int  // -1: ÂX
	given     bool // layer 0 reads ÂX, and no neighbours
	roots     bool // with given: X beside it
	sparse    bool // it reads X as it is stored
	dense     bool // it reads X that does not lie by vertex: it is stored sparse, or in shards
	in, out   int  // columns that it reads and makes
	inType    gpu.DType
	outType   gpu.DType
	colScales bool // entries weigh by their source
	rowScales bool // and by their row
	weighted  bool // and by values of their own
	values    int  // of an entry, in the data
	loops     bool // loops weigh as much as where every in-neighbour is read
	some      bool // it computes rows of some vertices of a part
	pass      func(g gnn.LayerGraph, params *gnn.Params, ws *gnn.Workspace) *gnn.Pass
}

// planTasks returns what an evaluation consists of: ÂX if it is to be made, then the layers.
func planTasks(p *learn.Problem, o *Options, need *needed, budget gpu.Bytes) (gnn.Plan, []task) {
	sparse := p.Features.Sparse() && !o.Dense
	plan := gnn.Plan{Input: gnn.Exchanged, Storage: o.Storage}
	for l := range o.Model.Layers {
		plan.Layers = append(plan.Layers, orderOf(p, o, need, l, budget))
	}
	if sparse {
		plan.Layers[0] = gnn.LayerPlan{}
	}
	dense := !sparse && (p.Features.Sparse() || p.Shards != nil)
	var tasks []task
	cols, rows := o.Model.Symmetric(), o.Model.ScalesRows()
	if o.Precomputed {
		plan.Input, plan.Layers[0] = gnn.Precomputed, aggregateFirst
		tasks = append(tasks, task{layer: -1, dense: dense, in: o.Model.In, out: o.Model.In,
			colScales: cols, rowScales: rows, weighted: p.Weighted()})
	}
	for l := range o.Model.Layers {
		t := task{layer: l, given: l == 0 && o.Precomputed, sparse: l == 0 && sparse,
			some: o.Rows != nil || o.Fanout != nil, values: p.Weighs()}
		t.colScales, t.rowScales, t.weighted = cols && !t.given, rows && !t.given, p.Weighted() && !t.given
		t.loops = need.scaled(l) && o.Model.Rescales() && p.Loops == graph.LoopsAdded
		t.rowScales, t.weighted = t.rowScales || need.scaled(l) && o.Model.Rescales(), t.weighted || t.loops
		t.roots = t.given && o.Model.ReadsOwn()
		t.dense = l == 0 && dense && (!t.given || t.roots)
		t.in, t.out = o.Model.RowWidth(l)
		if l > 0 {
			t.inType = tasks[len(tasks)-1].outType
		}
		t.outType = o.Model.RowType(plan, l)
		var in gnn.Input
		if t.sparse {
			in.X.Sparse.Cols = t.in
		}
		t.pass = func(g gnn.LayerGraph, params *gnn.Params, ws *gnn.Workspace) *gnn.Pass {
			return gnn.NewLayerPass(o.Model, plan, l, g, in, params, ws)
		}
		tasks = append(tasks, t)
	}
	return plan, tasks
}

// aggregateFirst is the order that transforms last.
var aggregateFirst = gnn.LayerPlan{AggregateFirst: true, KeepAggregate: true, BackwardIn: true}

// costGathered is what it takes to gather an element of a row, in multiply-adds of a dense product (gnn.Choose).
const costGathered = 16

// orderOf chooses the cheaper order of a layer's forward pass. Transformed first, every vertex that is read is
// transformed once in every chunk that reads it: about as often as chunks of this budget are many, and no more
// often than it is read.
func orderOf(p *learn.Problem, o *Options, need *needed, l int, budget gpu.Bytes) gnn.LayerPlan {
	if !o.Model.Chooses(l) {
		return gnn.LayerPlan{}
	}
	in, out := o.Model.Width(l)
	n, edges := need.of(l)
	read := min(float64(p.Vertices()), n+edges)
	chunks := 1 + n*float64(16*(in+out))/float64(max(1, budget))
	gemm := float64(in) * float64(out)
	transform := gemm*read*min(chunks, (n+edges)/max(1, read)) + costGathered*edges*float64(out)
	if o.AggregateFirst || gemm*n+costGathered*edges*float64(in) <= transform {
		return aggregateFirst
	}
	return gnn.LayerPlan{}
}

// over returns the task's pass, with buffers of ws for chunks of at most s.
func (t *task) over(s size, ws *gnn.Workspace, params *gnn.Params) *gnn.Pass {
	return t.pass(gnn.LayerGraph{Rows: s.rows, Src: s.sources}, params, ws)
}

// cost returns what the task takes of a device by row, source, entry and value, and whatever the chunk is: inputs,
// and the buffers of the pass.
func (t *task) cost(params *gnn.Params, slots gpu.Bytes) (c cost, fixed gpu.Bytes) {
	if t.layer < 0 {
		c.row = 4 * gpu.Bytes(t.out)
	} else {
		total := func(s size) (n gpu.Bytes) {
			ws := gnn.NewWorkspace(gpu.Info{})
			t.over(s, ws, params)
			for _, slab := range ws.Slabs() {
				n += slab.Size
			}
			return n
		}
		fixed = total(size{})
		c.row, c.source = total(size{rows: 1})-fixed, total(size{sources: 1})-fixed
	}
	one, none := size{1, 1, 1, 1}, size{}
	each := func(drop func(s *size)) gpu.Bytes {
		s := one
		drop(&s)
		return slots * (t.input(one).total() - t.input(s).total())
	}
	c.row += each(func(s *size) { s.rows = 0 })
	c.source += each(func(s *size) { s.sources = 0 })
	c.entry += each(func(s *size) { s.entries = 0 })
	c.value += each(func(s *size) { s.values = 0 })
	return c, fixed + slots*t.input(none).total()
}

// input is what the buffers of one input on a device hold, in bytes.
type input [inputs]gpu.Bytes

// The buffers of an input.
const (
	inX = iota
	inAX
	inBegin
	inIndices
	inWeights
	inRowScale
	inColScale
	inValueBegin
	inValueIndices
	inValues
	inputs
)

var inputNames = [inputs]string{"rows of sources", "aggregated rows", "block rows", "block indices", "edge weights",
	"row scale", "column scale", "features rows", "features indices", "features values"}

// maxSlots is how many inputs a part has: one is filled while the other is computed on. A part that is one chunk
// has one.
const maxSlots = 2

func (in input) most(x input) input {
	for i, b := range x {
		in[i] = max(in[i], b)
	}
	return in
}

func (in input) total() (n gpu.Bytes) {
	for _, b := range in {
		n += b
	}
	return n
}

// input returns what an input for chunks of at most s holds.
func (t *task) input(s size) (in input) {
	if t.given {
		in[inAX] = 4 * gpu.Bytes(s.rows) * gpu.Bytes(t.in)
		if t.roots {
			in[inX] = in[inAX]
		}
		if t.some {
			in[inIndices] = 4 * gpu.Bytes(s.rows) // among rows that are kept
		}
		return in
	}
	if t.sparse {
		in[inValueBegin], in[inValueIndices] = 8*gpu.Bytes(s.sources+1), 4*gpu.Bytes(s.values)
		in[inValues] = in[inValueIndices]
	} else {
		in[inX] = gpu.Bytes(t.inType.Size()) * gpu.Bytes(s.sources) * gpu.Bytes(t.in)
	}
	in[inBegin], in[inIndices] = 8*gpu.Bytes(s.rows+1), 4*gpu.Bytes(s.entries)
	if t.weighted {
		in[inWeights] = in[inIndices] * gpu.Bytes(max(1, t.values))
	}
	if t.rowScales {
		in[inRowScale] = 4 * gpu.Bytes(s.rows)
	}
	if t.colScales {
		in[inColScale] = 4 * gpu.Bytes(s.sources)
	}
	return in
}

// partition is how one part goes through every task, and what that takes.
type partition struct {
	inner     []graph.NodeID   // ascending
	rows      [][]graph.NodeID // by task: those of inner that it computes
	divisions []division       // by task
	chunks    gpu.Bytes        // of the device, for chunks
	slots     int              // inputs
	input     input            // the largest of any task
	vertex    int              // that has a chunk beyond the budget, -1: none
}

// divideAll makes a part one chunk in every task if that takes no more than budget. Else it cuts the part into
// chunks for every task, so that they take no more than a piece may where no single vertex does.
func divideAll(need *needed, tasks []task, rows [][]graph.NodeID, budget, piece gpu.Bytes,
	params *gnn.Params) partition {
	if fitsWhole(need, tasks, rows, budget, params) {
		if d := divideFor(need, tasks, rows, budget, params, 1); d.chunks <= budget {
			return d
		}
	}
	budget = piece
	for limit, round := budget, 0; ; round++ {
		d := divideFor(need, tasks, rows, limit, params, maxSlots)
		if d.chunks <= budget || d.vertex >= 0 || round == maxRounds {
			return d
		}
		limit = gpu.Bytes(0.97 * float64(limit) * float64(budget) / float64(d.chunks))
	}
}

// maxRounds bounds how often a part is divided anew because layers do not share all of their buffers.
const maxRounds = 6

// fitsWhole reports whether the part may be one chunk in every task.
func fitsWhole(need *needed, tasks []task, rows [][]graph.NodeID, budget gpu.Bytes, params *gnn.Params) bool {
	for i := range tasks {
		c, fixed := tasks[i].cost(params, 1)
		if c.of(whole(need, rows[i], &tasks[i]))+fixed > budget {
			return false
		}
	}
	return true
}

func divideFor(need *needed, tasks []task, rows [][]graph.NodeID, budget gpu.Bytes, params *gnn.Params,
	slots int) partition {
	d := partition{rows: rows, vertex: -1, slots: slots}
	ws, largest := gnn.NewWorkspace(gpu.Info{}), gpu.Bytes(0)
	type shape struct {
		rows   int           // lists of as many are alike
		drawn  *sample.Block // with what they read
		limit  size
		sparse bool
	}
	made := map[shape]division{}
	for i := range tasks {
		t := &tasks[i]
		c, fixed := t.cost(params, gpu.Bytes(slots))
		room := max(0, budget-fixed)
		if t.given { // larger chunks would not be computed faster, but take memory that other layers do not share
			room /= 4
		}
		limit := c.limits(whole(need, rows[i], t), room)
		var of division
		key := shape{len(rows[i]), need.block(t.layer), limit, t.sparse}
		switch done, ok := made[key]; {
		case t.given:
			of = divideRows(rows[i], min(limit.rows, limit.sources))
		case ok:
			of = done
		default:
			of = divide(need, t.layer, rows[i], limit, c, t.sparse)
			made[key] = of
		}
		d.divisions = append(d.divisions, of)
		if took := c.of(of.most); of.worst >= 0 && took > largest {
			largest, d.vertex = took, int(rows[i][of.worst])
		}
		d.take(t, of.most, params, ws)
	}
	for _, slab := range ws.Slabs() {
		d.chunks += memory.Block(slab.Size)
	}
	for _, b := range d.input {
		d.chunks += gpu.Bytes(slots) * memory.Block(b)
	}
	return d
}

// take adds what a task takes.
func (d *partition) take(t *task, most size, params *gnn.Params, ws *gnn.Workspace) {
	if t.layer < 0 {
		d.chunks += memory.Block(4 * gpu.Bytes(most.rows) * gpu.Bytes(t.out))
	} else {
		t.over(most, ws, params)
	}
	d.input = d.input.most(t.input(most))
}
