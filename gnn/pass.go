package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// Pass is one way through the network on one device: for training (forward and backward over the needed rows) or for
// evaluation (forward over every row, no dropout). Its operations are derived from the model's program.
type Pass struct {
	cfg    Config
	plan   Plan
	first  int  // of the layers that the pass runs
	alone  bool // it runs one layer, whose rows another pass reads (NewLayerPass)
	layers []LayerGraph
	in     Input
	params *Params
	grads  *Params      // nil: evaluation
	drop   *featureDrop // nil: no features are dropped
	ws     *Workspace
	views  []view // of ws
	*derived
	meeter Meeter // nil: there are no other parts
}

// exec is one run of a pass on a queue.
type exec struct {
	*Pass
	q      gpu.Queue
	halo   Halo
	epoch  uint32
	absent bool // there are no rows
}

// present returns rows, none of an absent part.
func (x *exec) present(m gpu.Matrix) gpu.Matrix {
	if x.absent {
		return m.RowRange(0, 0)
	}
	return m
}

// NewPass plans a pass over layers, with its buffers requested from ws (to be allocated by the caller before the first
// Forward). grads nil makes an evaluation pass.
func NewPass(c Config, plan Plan, layers []LayerGraph, in Input, params, grads *Params, ws *Workspace) *Pass {
	return newPass(&Pass{cfg: c, plan: plan, layers: layers, in: in, params: params, grads: grads, ws: ws})
}

// NewLayerPass plans an evaluation pass through layer l alone, over the block g: it gives the rows of a whole
// evaluation, on CPU devices to the bit. What layer l reads is in's X: for l > 0 rows that the layer before made,
// dense, the first g.Src of them. Forward returns what layer l makes of them, behind LayerNorm, if the model has it,
// and activation but for logits, in BF16 where the plan stores these rows so; with jumping knowledge in FP32 and
// behind them what there is of the logits (Config.RowWidth).
func NewLayerPass(c Config, plan Plan, l int, g LayerGraph, in Input, params *Params, ws *Workspace) *Pass {
	return newPass(&Pass{cfg: c, plan: plan, first: l, alone: true, layers: []LayerGraph{g}, in: in, params: params,
		ws: ws})
}

func newPass(p *Pass) *Pass {
	from := len(p.ws.views)
	p.derived = p.derive()
	p.views = p.ws.views[from:len(p.ws.views):len(p.ws.views)]
	p.ws.plan(p.views, p.layers)
	return p
}

// Bind has the pass go through other blocks from the next Forward on: as many layers as it has, of any sizes that its
// slabs reach; beyond them it changes nothing and returns *Exceeds. It allocates nothing and may be called while
// earlier steps are under way: what it changes is read when operations are enqueued. layers must stay as they are
// until the next Bind.
func (p *Pass) Bind(layers []LayerGraph, in Input) error {
	p.checkLayers(layers)
	if e := p.ws.exceeds(p.views, layers); e != nil {
		return e
	}
	fit(p.views, layers)
	p.layers, p.in = layers, in
	return nil
}

// Grow makes the slabs of the pass's workspace that are too small for layers larger, by an eighth of their size or
// more where that can be had, so that Bind takes layers. Other slabs stay what they are. Nothing of an earlier step
// lies in the new ones, and what passes returned before is invalid. The device's queues must be synchronised. After
// an error the workspace can only be freed.
func (p *Pass) Grow(dev gpu.Device, layers []LayerGraph) error {
	p.checkLayers(layers)
	return p.ws.grow(dev, p.views, layers)
}

func (p *Pass) checkLayers(layers []LayerGraph) {
	if len(layers) != len(p.layers) {
		panic(fmt.Sprintf("gnn: %d blocks for a pass through %d layers", len(layers), len(p.layers)))
	}
}

func (p *Pass) training() bool { return p.grads != nil }

// graph returns what layer l aggregates over.
func (p *Pass) graph(l int) *LayerGraph { return &p.layers[l-p.first] }

// rowsOf, srcOf and haloOf count what layer l computes, reads, and reads of other parts.
func (p *Pass) rowsOf(l int) count {
	return count{layer: l - p.first, rows: func(g *LayerGraph) int { return g.Rows }}
}

func (p *Pass) srcOf(l int) count {
	return count{layer: l - p.first, rows: func(g *LayerGraph) int { return g.Src }}
}

func (p *Pass) haloOf(l int) count {
	return count{layer: l - p.first, rows: func(g *LayerGraph) int { return g.HaloRows }}
}

// LossGrad returns where the gradient of the logits is to be put before Backward; it may be the logits' own place.
func (p *Pass) LossGrad() gpu.Matrix { return *p.grad.m }

// Forward enqueues the network and returns the logits: Rows × Out of the last layer. A pass through the first layers
// alone returns what the next one reads. epoch, or the step, feeds dropout.
func (p *Pass) Forward(q gpu.Queue, halo Halo, epoch int) gpu.Matrix {
	x := &exec{Pass: p, q: q, halo: halo, epoch: uint32(epoch)}
	for i := range p.forward {
		p.forward[i].run(x)
	}
	return p.result.dense(x)
}

// LastRows returns, after Forward of an evaluation, what the last layer of the pass made; with jumping knowledge
// these are not the logits.
func (p *Pass) LastRows() gpu.Matrix { return p.rows.dense(&exec{Pass: p}) }

// Backward enqueues the gradient of every parameter, added to the grads of the pass. The gradient of the logits lies
// in LossGrad and is used up. Forward must have run on q with the same epoch.
//
// done, if not nil, is called once per layer, from the last to the first, when q has been given the last operation
// that writes a gradient of the layer's tensors (Weights.Layers) or reads one of its parameters: those of its norm
// come with the layer behind it, before its own.
func (p *Pass) Backward(q gpu.Queue, halo Halo, epoch int, done func(layer int)) {
	x := &exec{Pass: p, q: q, halo: halo, epoch: uint32(epoch)}
	l := len(p.done) - 1
	for i := range p.backward {
		p.backward[i].run(x)
		for ; l >= 0 && p.done[l] <= i+1; l-- {
			if done != nil {
				done(l)
			}
		}
	}
}

// Meets has the pass sum over the rows of other parts, too.
func (p *Pass) Meets(m Meeter) { p.meeter = m }

// Absent takes the place of Forward and Backward of a part that has no rows where others have some: it meets them.
func (p *Pass) Absent(q gpu.Queue) {
	x := &exec{Pass: p, q: q, absent: true}
	for _, met := range p.met {
		met(x)
	}
}

// Outputs returns, after Backward, what each layer made in the Forward before it, or for a layer with LayerNorm the
// reciprocal deviations of that, which are not finite where its rows are not; for the last layer what lies where the
// logits were. All are FP32.
func (p *Pass) Outputs() []gpu.Matrix {
	out := make([]gpu.Matrix, len(p.shows))
	for l, v := range p.shows {
		if v == nil { // what was made before the first epoch
			continue
		}
		if v.v != nil {
			out[l] = gpu.Matrix{Buf: v.v.Buf, Off: v.v.Off, Rows: 1, Cols: v.v.Len, LD: max(1, v.v.Len)}
		} else {
			out[l] = *v.m
		}
	}
	return out
}

// gemm and linear enqueue products of rows. In a run that stores gathered rows in BF16, devices that can
// (HalfProducts) round the operands of all of them.
func (x *exec) gemm(a gpu.GemmArgs) {
	a.Half = x.plan.Storage == gpu.BF16
	x.q.Gemm(a)
}

func (x *exec) linear(a gpu.LinearArgs) {
	a.Half = x.plan.Storage == gpu.BF16
	x.q.Linear(a)
}

// exchanges reports whether layer l brings rows from other parts in every epoch.
func (x *exec) exchanges(l int) bool {
	return x.halo != nil && (l > 0 || x.plan.Input == Exchanged)
}

// replicated reports whether layer l transforms halo rows locally.
func (p *Pass) replicated(l int) bool { return l == 0 && p.plan.Input == Replicated }

// offer begins the exchange of rows, if layer l has one.
func (x *exec) offer(l int, dir Direction, rows gpu.Matrix) {
	if x.exchanges(l) {
		x.halo.Begin(x.q, l, dir, rows)
	}
}

// spread runs a.Y (+)= op · [a.X; halo rows]: those of the exchange, if layer l has one, or local ones. Bias and
// epilogue of a run last.
func (x *exec) spread(l int, dir Direction, op *Operand, a gpu.AggregateArgs, local *value) {
	exchange := x.exchanges(l)
	inner := a
	inner.A, inner.RowScale, inner.ColScale = op.Inner, op.RowScale, op.ColScale
	if !exchange && (local == nil || local.m.Rows == 0) {
		x.q.Aggregate(inner)
		return
	}
	inner.Bias, inner.Then = gpu.Vec{}, nil
	x.q.Aggregate(inner)
	a.A, a.RowScale, a.ColScale, a.Accumulate = op.Halo, op.RowScale, op.HaloScale, true
	if exchange {
		if a.X = x.halo.Wait(x.q, l, dir); dir == Backward && a.X.Rows == 0 {
			return
		}
	} else {
		a.X = *local.m
	}
	x.q.Aggregate(a)
}

// own returns the first n rows of the features: those of vertices that layer 0 computes.
func (x *exec) own(n int) Features {
	f := x.features().head(n)
	if f.sparse() {
		f.SparseT = x.rootT()
	}
	return f
}

// dropped is the dropout of the first rows, in training.
func (x *exec) dropped(t *then, rows int) gpu.Dropout {
	if t.p == 0 || !x.training() {
		return gpu.Dropout{}
	}
	return x.dropout(t, x.in.IDs.Slice(0, rows))
}

func (x *exec) dropout(t *then, ids gpu.Ints) gpu.Dropout {
	return gpu.Dropout{P: t.p, Seed: x.cfg.Seed, Layer: uint32(t.counter), Epoch: x.epoch, IDs: ids}
}
