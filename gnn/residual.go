package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// adds reports whether layer l adds what it reads to what it makes: both are hidden rows, of one width.
func (c Config) adds(l int) bool { return c.Residual && l > 0 && l < c.HiddenLayers() }

// residualStage requests the buffers of layer l of a network with residuals (docs/adr/0066).
//
//   - What layer l > 0 makes is a sum and not made again: it is kept in a slab of its own, h1, h2 and so on, for the weights of the layer behind it.
//   - The gradient of a convolution takes the place of its normalised rows, z, as that of the sum is still to be added to that of its input.
//   - The gradient of what a layer reads lies in z of the layer behind it, which is done. That of what the last layer reads lies in h0, and that of what the last
//     but one reads where its own output was.
//
// So a pass through L layers has 2·(L - 1) slabs of hidden rows, and one for what is transformed or scattered.
func (p *Pass) residualStage(s stage, l int, ws *Workspace, own, turn func(kind string) string) stage {
	in, out := p.cfg.Width(l)
	rows := p.rowsOf(l)
	s.z = ws.matrix(own("z"), rows, out)
	if l < p.cfg.HiddenLayers() {
		s.h = ws.typed(p.keptSlab(l), rows, out, p.rowType(l))
		if s.sum = s.h; s.h.Type != gpu.FP32 && p.cfg.adds(l) {
			name := "sum"
			if p.training() && !p.cfg.normed() { // they show where training diverged (Outputs)
				name = own(name)
			}
			s.sum = ws.matrix(name, rows, out)
		}
		if p.plan.Storage != gpu.FP32 && p.cfg.adds(l) {
			s.zero = ws.vec("zero", number(1))
		}
	}
	if !p.training() {
		return s
	}
	if p.cfg.normed() {
		s.rstd = ws.vec(own("rstd"), rows)
	}
	if l > 0 {
		s.dh = ws.matrix(p.residualGradSlab(l), p.srcOf(l), in)
	}
	if t := p.gradType(l); t != gpu.FP32 {
		s.dz = ws.typed(turn("dz"), rows, out, t)
	}
	return s
}

// keptSlab is where the output of layer l lies. Evaluation needs what a layer reads and what it makes.
func (p *Pass) keptSlab(l int) string {
	switch {
	case p.training():
		return fmt.Sprintf("h%d", l)
	case p.alone:
		return "h0"
	}
	return fmt.Sprintf("h%d", l%2)
}

// residualGradSlab is where the gradient of what layer l reads lies.
func (p *Pass) residualGradSlab(l int) string {
	switch last := p.cfg.HiddenLayers(); {
	case l < last-1:
		return fmt.Sprintf("z%d", l+1)
	case p.cfg.normed(): // without LayerNorm the last output shows where training diverged (Outputs)
		return p.keptSlab(l % last)
	}
	return fmt.Sprintf("rows-%d", l%2)
}

// addInput adds h, the rows that layer l read, to what it made of them.
func (x *exec) addInput(l int, h gpu.Matrix) {
	s := x.stage(l)
	h = h.RowRange(0, s.sum.Rows)
	if h.Type == gpu.FP32 {
		x.q.Axpby(*s.sum, 1, h, 1)
	} else {
		x.q.Fill(gpu.Matrix{Buf: s.zero.Buf, Off: s.zero.Off, Rows: 1, Cols: 1, LD: 1}, 0)
		x.q.AddScaled(*s.sum, h, *s.zero)
	}
	if s.h != s.sum {
		x.q.Copy(*s.h, *s.sum)
	}
}

// residualBackward returns the gradient of layer l's convolution, of that of its output, d, which stays, and the output.
func (x *exec) residualBackward(l int, d gpu.Matrix) (dz, h gpu.Matrix) {
	s, pr, gr := x.stage(l), &x.params.layers[l], &x.grads.layers[l]
	dz = *s.z
	if s.dz != nil {
		dz = *s.dz
	}
	e := gpu.EpilogueGrad{DH: d, X: *s.z, DZ: dz, Act: x.cfg.act(), Dropout: x.dropout(l), DBias: gr.bias}
	if x.cfg.normed() {
		e.Norm, e.Gamma, e.Beta, e.Rstd, e.DGamma, e.DBeta = true, pr.gamma, pr.beta, *s.rstd, gr.gamma, gr.beta
	}
	if !e.Norm && e.Act.Curved() { // its gradient is made of the output
		x.q.Epilogue(gpu.Epilogue{Z: *s.z, H: *s.z, Act: e.Act, Dropout: e.Dropout})
	}
	x.q.EpilogueBackward(e)
	return dz, *s.h
}

// outputGrad returns where the gradient of layer l's output lies.
func (x *exec) outputGrad(l int) gpu.Matrix {
	if l+1 < len(x.stages) {
		return *x.stages[l+1].dh
	}
	return *x.jump.last
}
