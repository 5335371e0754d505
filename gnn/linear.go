package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// linear is the neighbour part that GCN, GraphSAGE and GIN share: a weight matrix before or after the aggregation, in the
// order that the plan chose, with its buffers.
type linear struct {
	l       int
	lp      LayerPlan
	in, out int
	t       *gpu.Matrix // Src × out: H·Wᵀ (transform first)
	tHalo   *gpu.Matrix // HaloRows × out: the same of replicated halo rows
	s       *gpu.Matrix // Rows × in: A·H (aggregate first); kept if the backward pass needs it
	g       *gpu.Matrix // Src × out: Aᵀ·dZ
	gHalo   *gpu.Matrix // HaloRows × out: its rows for replicated halo vertices
	ds      *gpu.Matrix // Rows × in: dZ·W (BackwardIn)
	wt      *gpu.Matrix // in × out: transposed weight, for sparse features
	dwt     *gpu.Matrix // in × out: its gradient
}

// newLinear requests the buffers of layer l, whose first weight has out rows. keepT keeps the transformed rows for the
// backward pass.
func newLinear(p *Pass, l, out int, ws *Workspace, keepT bool) linear {
	in, _ := p.cfg.Width(l)
	n := linear{l: l, lp: p.plan.Layers[l], in: in, out: out}
	if l == 0 && p.in.X.sparse() {
		n.wt = ws.matrix("wt", number(in), out)
		if p.training() {
			n.dwt = ws.matrix("dwt", number(in), out)
		}
	}
	if l == 0 && p.plan.Input == Precomputed {
		return n
	}
	if n.lp.AggregateFirst {
		name := "g"
		if n.lp.KeepAggregate && p.training() {
			name = fmt.Sprintf("s%d", l)
		}
		if n.lp.BackwardIn && p.training() {
			n.ds = ws.typed("g", p.rowsOf(l), in, p.cfg.GatherType(p.plan, l, Backward))
		}
		n.s = ws.matrix(name, p.rowsOf(l), in)
	} else {
		name := p.transformedSlab(l)
		if keepT && p.training() {
			name = fmt.Sprintf("t%d", l)
		}
		n.t = ws.typed(name, p.srcOf(l), out, p.cfg.GatherType(p.plan, l, Forward))
	}
	if p.training() && !n.lp.BackwardIn {
		n.g = ws.matrix(p.scatteredSlab(l), p.srcOf(l), out)
	}
	if p.replicated(l) || n.lp.Raw {
		name := "thalo"
		if n.lp.Returns && p.training() { // the backward pass reads them
			name = fmt.Sprintf("thalo%d", l)
		}
		n.tHalo = ws.typed(name, p.haloOf(l), out, p.cfg.GatherType(p.plan, l, Forward))
		if p.training() && !n.lp.Returns {
			n.gHalo = ws.matrix("ghalo", p.haloOf(l), out)
		}
	}
	return n
}

// source returns the rows that the layer reads, as features.
func (n *linear) source(x *exec, h gpu.Matrix) Features {
	if n.l == 0 {
		return x.features()
	}
	return Features{Dense: h}
}

// own returns the first of these rows, those of the vertices that the layer computes.
func (n *linear) own(x *exec, h gpu.Matrix) Features {
	f := n.source(x, h).head(x.graph(n.l).Rows)
	if f.sparse() {
		f.SparseT = x.rootT()
	}
	return f
}

// project enqueues y = f·wᵀ + beta·y.
func (n *linear) project(x *exec, y gpu.Matrix, f Features, w gpu.Matrix, beta float32) {
	if !f.sparse() {
		x.linear(gpu.LinearArgs{Z: y, X: f.Dense, W: w, Beta: beta})
		return
	}
	x.q.Transpose(*n.wt, w)
	x.q.SpMM(y, f.Sparse, *n.wt, beta)
}

// projectGrad enqueues dw += gᵀ·f + gHaloᵀ·fHalo; the halo pair may be empty. Sparse features write dw.
func (n *linear) projectGrad(x *exec, dw gpu.Matrix, g gpu.Matrix, f Features, gHalo gpu.Matrix, fHalo Features) {
	if !f.sparse() {
		x.gemm(gpu.GemmArgs{C: dw, A: g, B: f.Dense, TransA: true, Beta: 1})
		if gHalo.Rows > 0 {
			x.gemm(gpu.GemmArgs{C: dw, A: gHalo, B: fHalo.Dense, TransA: true, Beta: 1})
		}
		return
	}
	x.q.SpMM(*n.dwt, f.SparseT, g, 0)
	if gHalo.Rows > 0 {
		x.q.SpMM(*n.dwt, fHalo.SparseT, gHalo, 1)
	}
	x.q.Transpose(dw, *n.dwt)
}

// transform enqueues T = H·Wᵀ for inner rows and, if they are replicated, for halo rows; it returns both.
func (n *linear) transform(x *exec, h, w gpu.Matrix) (t, tHalo gpu.Matrix) {
	n.project(x, *n.t, n.source(x, h), w, 0)
	if p := x.Pass; p.replicated(n.l) && n.tHalo.Rows > 0 {
		n.project(x, *n.tHalo, x.in.Halo, w, 0)
		tHalo = *n.tHalo
	}
	return *n.t, tHalo
}

// gather enqueues S = A·H, with the exchange of H.
func (n *linear) gather(x *exec, h gpu.Matrix) gpu.Matrix {
	x.aggregate(n.l, Forward, &x.graph(n.l).Forward, gpu.AggregateArgs{Y: *n.s, X: n.source(x, h).Dense}, gpu.Matrix{}, nil)
	return *n.s
}

// scatter enqueues G = Aᵀ·dZ, with the exchange of dZ or, for replicated halo rows, their share of it.
func (n *linear) scatter(x *exec, dz gpu.Matrix) gpu.Matrix {
	lg := x.graph(n.l)
	x.aggregate(n.l, Backward, &lg.Backward, gpu.AggregateArgs{Y: *n.g, X: dz}, gpu.Matrix{}, nil)
	if gHalo := n.replicatedGrad(); gHalo.Rows > 0 {
		x.q.Aggregate(gpu.AggregateArgs{Y: gHalo, A: lg.HaloBack, X: dz,
			RowScale: lg.Forward.HaloScale, ColScale: lg.Forward.RowScale})
	}
	return *n.g
}

// scatterIn enqueues dH = Aᵀ·(dZ·W), with the exchange of dZ·W.
func (n *linear) scatterIn(x *exec, ds, dh gpu.Matrix) {
	x.aggregate(n.l, Backward, &x.graph(n.l).Backward, gpu.AggregateArgs{Y: dh, X: ds}, gpu.Matrix{}, nil)
}

// aggregated returns A·H as the forward pass left it: precomputed or kept.
func (n *linear) aggregated(x *exec) gpu.Matrix {
	if n.l == 0 && x.plan.Input == Precomputed {
		return x.in.AX.RowRange(0, x.graph(0).Rows)
	}
	return *n.s
}

// precomputed reports whether A·H of this layer was made before the first epoch.
func (n *linear) precomputed(x *exec) bool { return n.l == 0 && x.plan.Input == Precomputed }

// backward is the gradient of Z = A·H·Wᵀ in the order of the plan: dh, but in the first layer, and dw where that takes A·H. A
// part whose dh has no row exchanges like the others.
func (n *linear) backward(x *exec, w, dw, dz, dh gpu.Matrix) {
	if n.keepsAggregate(x) {
		x.gemm(gpu.GemmArgs{C: dw, A: dz, B: n.aggregated(x), TransA: true, Beta: 1})
	}
	if n.precomputed(x) {
		return
	}
	if n.lp.BackwardIn {
		if n.l > 0 {
			x.gemm(gpu.GemmArgs{C: *n.ds, A: dz, B: w})
			n.scatterIn(x, *n.ds, dh)
		}
		return
	}
	g := n.scatter(x, dz)
	if dh.Rows > 0 {
		x.gemm(gpu.GemmArgs{C: dh, A: g, B: w})
	}
}

// weightGrad adds dw = (Aᵀ·dZ)ᵀ·H, of which scatter has left the first factor, where backward has not done so.
func (n *linear) weightGrad(x *exec, h, dw gpu.Matrix) {
	if !n.keepsAggregate(x) {
		n.projectGrad(x, dw, *n.g, n.source(x, h), n.replicatedGrad(), x.in.Halo)
	}
}

// keepsAggregate reports whether the backward pass finds A·H as the forward pass used it.
func (n *linear) keepsAggregate(x *exec) bool { return n.precomputed(x) || n.lp.KeepAggregate }

// replicatedGrad returns gHalo, empty where nothing is replicated.
func (n *linear) replicatedGrad() gpu.Matrix {
	if n.gHalo == nil {
		return gpu.Matrix{}
	}
	return *n.gHalo
}
