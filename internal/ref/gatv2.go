package ref

import "math"

// GATv2 is attention over in-edges in one matrix whose scores are of sums of rows: rows are destinations, columns index T. Inner and halo blocks
// of gpu.GATv2Args are one matrix here, the halo's columns behind the inner ones.
type GATv2 struct {
	A     CSR
	T     Matrix // sources × heads·C
	R     Matrix // destinations × heads·C
	Att   []float64
	Heads int
	Slope float64
	Keep  func(u, v, h int) float64 // as GAT's
}

// leaky returns LeakyReLU of x, and its derivative.
func (g GATv2) leaky(x float64) (y, dy float64) {
	if x > 0 {
		return x, 1
	}
	return g.Slope * x, g.Slope
}

// Score returns e_uv of head h.
func (g GATv2) Score(u, v, h int) float64 {
	c, s := g.T.Cols/g.Heads, 0.0
	t, r := g.T.Row(u), g.R.Row(v)
	for k := h * c; k < (h+1)*c; k++ {
		y, _ := g.leaky(t[k] + r[k])
		s += g.Att[k] * y
	}
	return s
}

// Forward returns O and LSE.
func (g GATv2) Forward() (o, lse Matrix) {
	c := g.T.Cols / g.Heads
	o, lse = NewMatrix(g.A.Rows, g.T.Cols), NewMatrix(g.A.Rows, g.Heads)
	for v := range g.A.Rows {
		edges := g.A.Row(v)
		if len(edges) == 0 {
			continue
		}
		for h := range g.Heads {
			top, sum := math.Inf(-1), 0.0
			for _, e := range edges {
				top = math.Max(top, g.Score(e.Col, v, h))
			}
			for _, e := range edges {
				sum += math.Exp(g.Score(e.Col, v, h) - top)
			}
			lse.Row(v)[h] = top + math.Log(sum)
			for _, e := range edges {
				alpha := math.Exp(g.Score(e.Col, v, h)-lse.At(v, h)) * kept(g.Keep, e.Col, v, h)
				row, t := o.Row(v), g.T.Row(e.Col)
				for k := h * c; k < (h+1)*c; k++ {
					row[k] += alpha * t[k]
				}
			}
		}
	}
	return o, lse
}

// GATv2Grad is the gradient of GATv2.
type GATv2Grad struct {
	G      Matrix // destinations × heads
	DR, DA Matrix // destinations × heads·C; the columns of DA add up to the gradient of Att
	DT     Matrix // sources × heads·C
}

// Backward returns the gradients for do, the gradient of O, with o and lse of Forward.
func (g GATv2) Backward(do, o, lse Matrix) GATv2Grad {
	c := g.T.Cols / g.Heads
	r := GATv2Grad{NewMatrix(g.A.Rows, g.Heads), NewMatrix(g.A.Rows, g.T.Cols), NewMatrix(g.A.Rows, g.T.Cols), NewMatrix(g.T.Rows, g.T.Cols)}
	for v := range g.A.Rows {
		out, in, sums, dr, da := do.Row(v), o.Row(v), g.R.Row(v), r.DR.Row(v), r.DA.Row(v)
		for h := range g.Heads {
			lo, hi := h*c, (h+1)*c
			gv := 0.0
			for k := lo; k < hi; k++ {
				gv += out[k] * in[k]
			}
			r.G.Row(v)[h] = gv
			for _, e := range g.A.Row(v) {
				t, dt := g.T.Row(e.Col), r.DT.Row(e.Col)
				alpha, dot := math.Exp(g.Score(e.Col, v, h)-lse.At(v, h)), 0.0
				for k := lo; k < hi; k++ {
					dot += out[k] * t[k]
				}
				m := kept(g.Keep, e.Col, v, h)
				de := alpha * (m*dot - gv)
				for k := lo; k < hi; k++ {
					y, dy := g.leaky(t[k] + sums[k])
					dr[k] += g.Att[k] * de * dy
					da[k] += de * y
					dt[k] += m*alpha*out[k] + g.Att[k]*de*dy
				}
			}
		}
	}
	return r
}
