package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// Pass is one way through the network on one device: for training (forward and backward over the needed rows) or for
// evaluation (forward over every row, no dropout).
type Pass struct {
	cfg    Config
	plan   Plan
	first  int  // of the layers that the pass runs
	alone  bool // it runs one layer, whose rows another pass reads (NewLayerPass)
	layers []LayerGraph
	in     Input
	params *Params
	grads  *Params      // nil: evaluation
	stages []stage      // of layers, as layers
	drop   *featureDrop // nil: no features are dropped
	origin *origin      // of APPNP and GCNII; nil: of others, and where H⁰ comes with the rows of the layer before
	jump   *jumping     // nil: without jumping knowledge, and in a pass that does not reach the logits
	ws     *Workspace
	views  []view // of ws
}

// stage is one layer: its convolution and the buffers between it and the next.
type stage struct {
	conv conv
	z    *gpu.Matrix // Rows × out: convolution output, then the normalised rows; those of a layer without hidden rows are the logits
	h    *gpu.Matrix // Rows × out: what the next layer reads; z itself where activation and dropout work in place; nil: there are none, as behind a layer that makes logits and in SGC, APPNP and GCNII
	sum  *gpu.Matrix // Rows × out: h before it is stored in BF16, or h; only with residuals
	zero *gpu.Vec    // 0, for the sum of BF16 rows
	rstd *gpu.Vec    // Rows; only training, with LayerNorm
	dh   *gpu.Matrix // Src × in: gradient of what the layer read; only training, nil for the first layer
	dz   *gpu.Matrix // Rows × out: gradient of z, where it is stored in BF16; else nil: it takes the place of the gradient of h
}

// conv is one convolution. h is what it reads (empty for layer 0, which reads the Input), z what it writes; then, if
// given, runs on z. The backward pass has two steps, so that h need not be kept in between: backward writes the gradient of
// h, if dh is not empty, and adds the parameter gradients that do without h; weightGrad, for which h has been made again,
// adds the others. dh may lie where dz does only if the model says so (Config.overwritesGrad).
type conv interface {
	forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue)
	backward(x *exec, dz, dh gpu.Matrix)
	weightGrad(x *exec, h, dz gpu.Matrix)
}

// overwritesGrad reports whether a convolution reads dz no more once it writes dh.
func (c Config) overwritesGrad() bool { return c.Kind == GCN || c.Kind == GCNII }

// exec is one run of a pass on a queue.
type exec struct {
	*Pass
	q     gpu.Queue
	halo  Halo
	epoch uint32
}

// NewPass plans a pass over layers, with its buffers requested from ws (to be allocated by the caller before the first
// Forward). grads nil makes an evaluation pass.
func NewPass(c Config, plan Plan, layers []LayerGraph, in Input, params, grads *Params, ws *Workspace) *Pass {
	return newPass(&Pass{cfg: c, plan: plan, layers: layers, in: in, params: params, grads: grads, ws: ws})
}

// NewLayerPass plans an evaluation pass through layer l alone, over the block g: it gives the rows of a whole evaluation, on CPU
// devices to the bit. What layer l reads is in's X: for l > 0 rows that the layer before made, dense, the first g.Src of them.
// Forward returns what layer l makes of them, behind LayerNorm, if the model has it, and activation but for logits, in BF16 where the plan stores these
// rows so; with jumping knowledge in FP32 and behind them what there is of the logits (Config.RowWidth).
func NewLayerPass(c Config, plan Plan, l int, g LayerGraph, in Input, params *Params, ws *Workspace) *Pass {
	return newPass(&Pass{cfg: c, plan: plan, first: l, alone: true, layers: []LayerGraph{g}, in: in, params: params, ws: ws})
}

func newPass(p *Pass) *Pass {
	from := len(p.ws.views)
	if p.first == 0 {
		p.drop = p.newFeatureDrop(p.ws)
	}
	if p.cfg.Kind.KeepsOrigin() && p.first == 0 {
		p.origin = p.newOrigin(p.ws)
	}
	for i := range p.layers {
		p.stages = append(p.stages, p.newStage(p.first+i, p.ws))
	}
	p.jump = p.newJumping(p.ws)
	p.views = p.ws.views[from:len(p.ws.views):len(p.ws.views)]
	p.ws.plan(p.views, p.layers)
	return p
}

// Bind has the pass go through other blocks from the next Forward on: as many layers as it has, of any sizes that its slabs
// reach; beyond them it changes nothing and returns *Exceeds. It allocates nothing and may be called while earlier steps are
// under way: what it changes is read when operations are enqueued. layers must stay as they are until the next Bind.
func (p *Pass) Bind(layers []LayerGraph, in Input) error {
	p.checkLayers(layers)
	if e := p.ws.exceeds(p.views, layers); e != nil {
		return e
	}
	fit(p.views, layers)
	p.layers, p.in = layers, in
	return nil
}

// Grow makes the slabs of the pass's workspace that are too small for layers larger, by an eighth of their size or more where
// that can be had, so that Bind takes layers. Other slabs stay what they are. Nothing of an earlier step lies in the new ones, and
// what passes returned before is invalid. The device's queues must be synchronised. After an error the workspace can only be freed.
func (p *Pass) Grow(dev gpu.Device, layers []LayerGraph) error {
	p.checkLayers(layers)
	return p.ws.grow(dev, p.views, layers)
}

func (p *Pass) checkLayers(layers []LayerGraph) {
	if len(layers) != len(p.stages) {
		panic(fmt.Sprintf("gnn: %d blocks for a pass through %d layers", len(layers), len(p.stages)))
	}
}

func (p *Pass) training() bool { return p.grads != nil }

// graph and stage return what layer l aggregates over, and its buffers.
func (p *Pass) graph(l int) *LayerGraph { return &p.layers[l-p.first] }
func (p *Pass) stage(l int) *stage      { return &p.stages[l-p.first] }

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

func (p *Pass) newStage(l int, ws *Workspace) stage {
	in, out := p.cfg.Width(l)
	s := stage{conv: p.newConv(l, ws)}
	// In the backward pass h is made again, in the place of z. Evaluation writes to training's slabs, which are dead between epochs.
	turn := func(kind string) string { return p.turn(l, kind) }
	own := func(kind string) string {
		if p.training() {
			return fmt.Sprintf("%s%d", kind, l)
		}
		return kind + "0"
	}
	switch {
	case !p.cfg.Kind.Norms():
		return p.plainStage(s, l, ws, own, turn)
	case p.cfg.Residual:
		return p.residualStage(s, l, ws, own, turn)
	case p.cfg.NoNorm && !p.training(): // in place, one layer's rows become those of the next
		s.z = ws.matrix(fmt.Sprintf("z%d", l%2), p.rowsOf(l), out)
	default:
		s.z = ws.matrix(own("z"), p.rowsOf(l), out)
	}
	switch {
	case l == p.cfg.HiddenLayers(): // it makes the logits
	case !p.cfg.normed() && p.rowType(l) == gpu.FP32:
		s.h = s.z
	default:
		s.h = ws.typed(p.outputSlab(l, turn("rows")), p.rowsOf(l), out, p.rowType(l))
	}
	if !p.training() {
		return s
	}
	if p.cfg.normed() {
		s.rstd = ws.vec(own("rstd"), p.rowsOf(l))
	}
	if l > 0 {
		s.dh = ws.matrix(turn("rows"), p.srcOf(l), in)
	}
	if t := p.gradType(l); t != gpu.FP32 {
		s.dz = ws.typed(turn("dz"), p.rowsOf(l), out, t)
	}
	return s
}

// plainStage requests the buffers of a layer of SGC, APPNP or GCNII: the next layer reads what it makes, which activations have changed in place. A
// layer alone makes H⁰ of its rows beside it, for the layer that comes next.
func (p *Pass) plainStage(s stage, l int, ws *Workspace, own, turn func(kind string) string) stage {
	in, out := p.cfg.Width(l)
	if p.alone {
		_, out = p.cfg.RowWidth(l)
	}
	if !p.training() {
		s.z = ws.matrix(fmt.Sprintf("z%d", l%2), p.rowsOf(l), out)
		return s
	}
	s.z = ws.matrix(own("z"), p.rowsOf(l), out)
	if l > 0 {
		s.dh = ws.matrix(turn("rows"), p.srcOf(l), in)
	}
	return s
}

// rowType returns the element type of layer l's output: the next layer's GatherType, if that layer gathers these rows. Otherwise only products read
// the rows; on a device whose products round their operands (HalfProducts) they have the same type, so that they are rounded once.
func (p *Pass) rowType(l int) gpu.DType {
	if l+1 == p.cfg.Layers { // jumping knowledge: no layer gathers them
		return gpu.FP32
	}
	if p.plan.Layers[l+1].AggregateFirst || p.ws.device.HalfProducts {
		return p.cfg.GatherType(p.plan, l+1, Forward)
	}
	return gpu.FP32
}

// gradType returns the element type of the gradient of layer l's convolution.
func (p *Pass) gradType(l int) gpu.DType {
	if p.plan.Layers[l].BackwardIn || p.cfg.Kind == GIN { // what is gathered is made of it
		return gpu.FP32
	}
	return p.cfg.GatherType(p.plan, l, Backward)
}

// LossGrad returns where the gradient of the logits is to be put before Backward; it may be the logits' own place.
func (p *Pass) LossGrad() gpu.Matrix {
	if p.jump != nil {
		return *p.jump.y
	}
	s := &p.stages[len(p.stages)-1]
	if s.dz != nil {
		return *s.dz
	}
	return *s.z
}

func (p *Pass) newConv(l int, ws *Workspace) conv {
	switch p.cfg.Kind {
	case GCN:
		return newGCN(p, l, ws)
	case SAGE:
		return newSAGE(p, l, ws)
	case GIN:
		return newGIN(p, l, ws)
	case GAT:
		return newGAT(p, l, ws)
	case SGC:
		if l == 0 {
			return newGCN(p, l, ws)
		}
		return newPropagation(p, l, ws)
	case APPNP:
		return newPropagation(p, l, ws)
	case GCNII:
		return newGCNII(p, l, ws)
	case GATv2:
		return newGATv2(p, l, ws)
	}
	panic("gnn: no layer of kind " + string(p.cfg.Kind))
}

// Forward enqueues the network and returns the logits: Rows × Out of the last layer. A pass through the first layers alone returns what the next one reads. epoch, or the step, feeds dropout.
func (p *Pass) Forward(q gpu.Queue, halo Halo, epoch int) gpu.Matrix {
	x := &exec{Pass: p, q: q, halo: halo, epoch: uint32(epoch)}
	var h gpu.Matrix
	if p.first > 0 {
		in, _ := p.cfg.Width(p.first)
		h = p.in.X.Dense.RowRange(0, p.graph(p.first).Src).ColRange(0, in)
	}
	p.drop.forward(x)
	for i := range p.stages {
		l, s := p.first+i, &p.stages[i]
		if s.h == nil {
			h = x.plain(l, h)
			continue
		}
		e := x.epilogue(l)
		if p.apart(l) {
			s.conv.forward(x, h, *s.z, nil)
			x.q.Epilogue(e)
		} else {
			s.conv.forward(x, h, *s.z, &e)
		}
		if p.cfg.adds(l) {
			x.addInput(l, h)
		}
		h = *s.h
		if p.jump != nil {
			p.jump.forward(x, l, h)
		}
	}
	if p.jump != nil {
		return *p.jump.y
	}
	return h
}

// LastRows returns, after Forward of an evaluation, what the last layer of the pass made; with jumping knowledge these are not the logits.
func (p *Pass) LastRows() gpu.Matrix {
	s := &p.stages[len(p.stages)-1]
	if s.h == nil {
		return *s.z
	}
	return *s.h
}

// plain enqueues a layer whose output is that of its convolution, and returns it, behind it H⁰ if the pass is the layer alone.
func (x *exec) plain(l int, h gpu.Matrix) gpu.Matrix {
	s := x.stage(l)
	_, width := x.cfg.Width(l)
	s.conv.forward(x, h, s.z.ColRange(0, width), nil)
	if s.z.Cols > width {
		x.q.Copy(s.z.ColRange(width, s.z.Cols), x.originRows(s.z.Rows))
	}
	return *s.z
}

// Backward enqueues the gradient of every parameter, added to the grads of the pass. The gradient of the logits lies in
// LossGrad and is used up. Forward must have run on q with the same epoch.
//
// done, if not nil, is called once per layer, from the last to the first, when q has been given the last operation that
// writes a gradient of the layer's tensors (Weights.Layers) or reads one of its parameters: those of its norm come with the
// layer behind it, before its own.
func (p *Pass) Backward(q gpu.Queue, halo Halo, epoch int, done func(layer int)) {
	if done == nil {
		done = func(int) {}
	}
	x := &exec{Pass: p, q: q, halo: halo, epoch: uint32(epoch)}
	dz := p.LossGrad()
	if p.jump != nil {
		dz, _ = x.outputBackward(len(p.stages)-1, *p.jump.last)
	} else if b := x.grads.layers[len(p.stages)-1].bias; !b.Empty() {
		q.ColSum(b, dz, 1)
	}
	for l := len(p.stages) - 1; l > 0; l-- {
		s := &p.stages[l]
		s.conv.backward(x, dz, *s.dh)
		if p.cfg.adds(l) {
			x.q.Axpby(s.dh.RowRange(0, s.z.Rows), 1, x.outputGrad(l), 1)
		}
		next, h := x.outputBackward(l-1, *s.dh)
		s.conv.weightGrad(x, h, dz)
		done(l)
		dz = next
	}
	p.drop.backward(x)
	p.stages[0].conv.backward(x, dz, gpu.Matrix{})
	p.stages[0].conv.weightGrad(x, gpu.Matrix{}, dz)
	done(0)
}

// gemm and linear enqueue products of rows. In a run that stores gathered rows in BF16, devices that can (HalfProducts) round the operands of all of them.
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

// aggregate runs a.Y (+)= op · [a.X; halo rows], exchanging a.X in between if layer l does; otherwise halo rows, if any,
// are local. between is enqueued while the exchange is under way. Bias and epilogue of a run last.
func (x *exec) aggregate(l int, dir Direction, op *Operand, a gpu.AggregateArgs, local gpu.Matrix, between func()) {
	exchange := x.exchanges(l)
	if exchange {
		x.halo.Begin(x.q, l, dir, a.X)
	}
	if between != nil {
		between()
	}
	inner := a
	inner.A, inner.RowScale, inner.ColScale = op.Inner, op.RowScale, op.ColScale
	if !exchange && local.Rows == 0 {
		x.q.Aggregate(inner)
		return
	}
	inner.Bias, inner.Then = gpu.Vec{}, nil
	x.q.Aggregate(inner)
	a.A, a.RowScale, a.ColScale, a.X, a.Accumulate = op.Halo, op.RowScale, op.HaloScale, local, true
	if exchange {
		if a.X = x.halo.Wait(x.q, l, dir); dir == Backward && a.X.Rows == 0 {
			return
		}
	}
	x.q.Aggregate(a)
}
