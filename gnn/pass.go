package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// normEps is LayerNorm's epsilon, PyTorch's default (DESIGN.md 3).
const normEps = 1e-5

// Pass is one way through the network on one device: for training (forward and backward over the needed rows) or for
// evaluation (forward over every row, no dropout).
type Pass struct {
	cfg    Config
	plan   Plan
	layers []LayerGraph
	in     Input
	params *Params
	grads  *Params // nil: evaluation
	stages []stage
}

// stage is one layer: its convolution and the buffers between it and the next.
type stage struct {
	conv conv
	z    *gpu.Matrix // Rows × out: convolution output, then the normalised rows; the last layer's are the logits
	h    *gpu.Matrix // Rows × out: what the next layer reads; nil for the last layer
	y    *gpu.Matrix // Rows × out: after LayerNorm and ReLU; only unfused
	rstd *gpu.Vec    // Rows; only training
	dh   *gpu.Matrix // Src × in: gradient of what the layer read; only training, nil for the first layer
}

// conv is one convolution. h is what it reads (empty for layer 0, which reads the Input), z what it writes; then, if
// given, runs on z. backward adds parameter gradients and, if dh is not empty, writes the gradient of h; dz may be used as
// scratch.
type conv interface {
	forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue)
	backward(x *exec, h, dz, dh gpu.Matrix)
}

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
	p := &Pass{cfg: c, plan: plan, layers: layers, in: in, params: params, grads: grads}
	for l := range layers {
		p.stages = append(p.stages, p.newStage(l, ws))
	}
	return p
}

func (p *Pass) training() bool { return p.grads != nil }

func (p *Pass) newStage(l int, ws *Workspace) stage {
	in, out := p.cfg.Width(l)
	g := &p.layers[l]
	last := l == p.cfg.Layers-1
	s := stage{conv: p.newConv(l, ws)}
	name := func(kind, shared string) string {
		if p.training() {
			return fmt.Sprintf("%s%d", kind, l)
		}
		return shared
	}
	// Evaluation writes to training's gradient slabs, which are dead between epochs.
	s.z = ws.matrix(name("z", "dh0"), g.Rows, out)
	if !last {
		s.h = ws.matrix(name("h", [...]string{"dh1", "eval-h"}[l%2]), g.Rows, out)
		if !p.plan.Fused {
			s.y = ws.matrix(name("y", "eval-y"), g.Rows, out)
		}
	}
	if p.training() {
		s.rstd = ws.vec(name("rstd", ""), g.Rows)
		if l > 0 {
			s.dh = ws.matrix([...]string{"dh0", "dh1"}[l%2], g.Src, in)
		}
	}
	return s
}

func (p *Pass) newConv(l int, ws *Workspace) conv {
	switch p.cfg.Kind {
	case SAGE:
		return newSAGE(p, l, ws)
	case GIN:
		return newGIN(p, l, ws)
	case GAT:
		return newGAT(p, l, ws)
	default:
		return newGCN(p, l, ws)
	}
}

// Forward enqueues the network and returns the logits: Rows × Out of the last layer. epoch feeds dropout.
func (p *Pass) Forward(q gpu.Queue, halo Halo, epoch int) gpu.Matrix {
	x := &exec{Pass: p, q: q, halo: halo, epoch: uint32(epoch)}
	var h gpu.Matrix
	for l := range p.stages {
		s := &p.stages[l]
		if s.h == nil {
			s.conv.forward(x, h, *s.z, nil)
			return *s.z
		}
		e := x.epilogue(l)
		if p.plan.Fused {
			s.conv.forward(x, h, *s.z, &e)
		} else {
			s.conv.forward(x, h, *s.z, nil)
			x.unfused(s, e)
		}
		h = *s.h
	}
	return h
}

// epilogue returns LayerNorm → ReLU → dropout of layer l.
func (x *exec) epilogue(l int) gpu.Epilogue {
	s, pr := &x.stages[l], &x.params.layers[l]
	e := gpu.Epilogue{Z: *s.z, H: *s.h, Norm: true, Gamma: pr.gamma, Beta: pr.beta, Eps: normEps, ReLU: true}
	if x.training() {
		e.Rstd = *s.rstd
		e.Dropout = x.dropout(l)
	}
	return e
}

func (x *exec) dropout(l int) gpu.Dropout {
	if x.cfg.Dropout == 0 {
		return gpu.Dropout{}
	}
	return gpu.Dropout{P: x.cfg.Dropout, Seed: x.cfg.Seed, Layer: uint32(l), Epoch: x.epoch,
		IDs: x.in.IDs.Slice(0, x.layers[l].Rows)}
}

// unfused runs an epilogue as three passes (saving 6 off).
func (x *exec) unfused(s *stage, e gpu.Epilogue) {
	norm, relu, drop := e, gpu.Epilogue{Z: *s.y, H: *s.y, ReLU: true}, gpu.Epilogue{Z: *s.y, H: *s.h, Dropout: e.Dropout}
	norm.H, norm.ReLU, norm.Dropout = *s.y, false, gpu.Dropout{}
	x.q.Epilogue(norm)
	x.q.Epilogue(relu)
	x.q.Epilogue(drop)
}

// Backward enqueues the gradient of every parameter, added to the grads of the pass. dz is the gradient of the logits and
// may be used as scratch. Forward must have run on q with the same epoch.
func (p *Pass) Backward(q gpu.Queue, halo Halo, epoch int, dz gpu.Matrix) {
	x := &exec{Pass: p, q: q, halo: halo, epoch: uint32(epoch)}
	q.ColSum(x.grads.layers[len(p.stages)-1].bias, dz, 1)
	for l := len(p.stages) - 1; l >= 0; l-- {
		s := &p.stages[l]
		if l == 0 {
			s.conv.backward(x, gpu.Matrix{}, dz, gpu.Matrix{})
			return
		}
		s.conv.backward(x, *p.stages[l-1].h, dz, *s.dh)
		dz = *s.dh
		x.epilogueBackward(l-1, dz)
	}
}

// epilogueBackward turns the gradient of layer l's output into that of its convolution, in place.
func (x *exec) epilogueBackward(l int, d gpu.Matrix) {
	s, pr, gr := &x.stages[l], &x.params.layers[l], &x.grads.layers[l]
	e := gpu.EpilogueGrad{DH: d, X: *s.z, DZ: d, Norm: true, Gamma: pr.gamma, Beta: pr.beta, Rstd: *s.rstd, ReLU: true,
		Dropout: x.dropout(l), DGamma: gr.gamma, DBeta: gr.beta, DBias: gr.bias}
	if x.plan.Fused {
		x.q.EpilogueBackward(e)
		return
	}
	norm := e
	norm.ReLU, norm.Dropout = false, gpu.Dropout{}
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: d, X: *s.y, DZ: d, Dropout: e.Dropout})
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: d, X: *s.y, DZ: d, ReLU: true})
	x.q.EpilogueBackward(norm)
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
		a.X = x.halo.Wait(x.q, l, dir)
	}
	x.q.Aggregate(a)
}

// AggregateInput computes ax = A·X over inner and halo rows (saving 1), once before the first epoch.
func AggregateInput(q gpu.Queue, op Operand, inner, halo, ax gpu.Matrix) {
	q.Aggregate(gpu.AggregateArgs{Y: ax, A: op.Inner, X: inner, RowScale: op.RowScale, ColScale: op.ColScale})
	if halo.Rows > 0 {
		q.Aggregate(gpu.AggregateArgs{Y: ax, A: op.Halo, X: halo, RowScale: op.RowScale, ColScale: op.HaloScale, Accumulate: true})
	}
}

// Outputs returns what each layer made in the last Forward: what the next layer reads, and for the last layer the logits
// (or, after Backward, what their memory was used for). All are contiguous.
func (p *Pass) Outputs() []gpu.Matrix {
	out := make([]gpu.Matrix, len(p.stages))
	for l, s := range p.stages {
		out[l] = *s.z
		if s.h != nil {
			out[l] = *s.h
		}
	}
	return out
}
