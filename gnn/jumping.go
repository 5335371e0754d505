package gnn

import "capgnn/gpu"

// jumping makes the logits of what all layers make (Xu et al., ICML 2018, concatenation): Y = Σ_l H_l·W_lᵀ + b, W_l the columns of lin.weight that layer l has. Each
// layer adds its product when it has made its rows, so that these are never side by side. Targets are a prefix of the rows of every layer.
type jumping struct {
	y    *gpu.Matrix // rows of the last layer × Out: the logits, then their gradient. Of a layer alone: Rows × RowWidth, of layers but the last with H_l before them
	last *gpu.Matrix // Rows × Hidden: gradient of what the last layer makes; only training
}

// newJumping requests the buffers of the logits, nil in a pass that does not reach them.
func (p *Pass) newJumping(ws *Workspace) *jumping {
	end := p.first + len(p.layers)
	if !p.cfg.Jumping || end < p.cfg.Layers && !p.alone {
		return nil
	}
	_, width := p.cfg.RowWidth(end - 1)
	j := &jumping{y: ws.matrix("logits", p.rowsOf(end-1), width)}
	if p.training() {
		j.last = ws.matrix(p.turn(end, "rows"), p.rowsOf(end-1), p.cfg.Hidden)
	}
	return j
}

// forward adds the share of layer l, which has made h.
func (j *jumping) forward(x *exec, l int, h gpu.Matrix) {
	y := j.logits(x)
	a := gpu.LinearArgs{Z: y, X: h.RowRange(0, y.Rows), W: x.params.layers[l].jump.w, Bias: x.params.layers[l].jump.bias}
	if l > 0 {
		a.Beta = 1
	}
	if x.alone && l > 0 {
		in, _ := x.cfg.Width(l)
		x.q.Copy(y, x.in.X.Dense.RowRange(0, y.Rows).ColRange(in, in+y.Cols))
	}
	x.linear(a)
	if y.Cols < j.y.Cols {
		x.q.Copy(j.y.ColRange(0, h.Cols), h)
	}
}

// logits returns the columns of y that are logits, the last ones.
func (j *jumping) logits(x *exec) gpu.Matrix { return j.y.ColRange(j.y.Cols-x.cfg.Out, j.y.Cols) }

// backward adds the share of the logits' gradient to d, that of what layer l makes.
func (j *jumping) backward(x *exec, l int, d gpu.Matrix) {
	beta := float32(1)
	if l == x.cfg.Layers-1 {
		beta = 0
	}
	x.gemm(gpu.GemmArgs{C: d.RowRange(0, j.y.Rows), A: *j.y, B: x.params.layers[l].jump.w, Beta: beta})
}

// weightGrad adds the gradient of the layer's columns of the weight, and in the last layer that of the bias; h is what the layer makes.
func (j *jumping) weightGrad(x *exec, l int, h gpu.Matrix) {
	if l == x.cfg.Layers-1 {
		x.q.ColSum(x.grads.layers[0].jump.bias, *j.y, 1)
	}
	x.gemm(gpu.GemmArgs{C: x.grads.layers[l].jump.w, A: *j.y, B: h.RowRange(0, j.y.Rows), TransA: true, Beta: 1})
}

// outputBackward is epilogueBackward, with what jumping knowledge makes of layer l's output.
func (x *exec) outputBackward(l int, d gpu.Matrix) (dz, h gpu.Matrix) {
	if x.jump == nil {
		return x.epilogueBackward(l, d)
	}
	x.jump.backward(x, l, d)
	dz, h = x.epilogueBackward(l, d)
	x.jump.weightGrad(x, l, h)
	return dz, h
}
