package ref

import "math"

// GATScores returns Σ_c a[hC+c]·T[i][hC+c] per row i and head h.
func GATScores(t Matrix, a []float64, heads int) Matrix {
	c := t.Cols / heads
	return Map(t.Rows, heads, func(i, h int) float64 {
		s := 0.0
		for k := h * c; k < (h+1)*c; k++ {
			s += a[k] * t.At(i, k)
		}
		return s
	})
}

// GATScoresBackward returns dT + a⊗ds and da + Σ_i ds·T, for one of the two score vectors.
func GATScoresBackward(t, dt, ds Matrix, a, da []float64) (Matrix, []float64) {
	c := t.Cols / ds.Cols
	dt, da = dt.Clone(), append([]float64(nil), da...)
	for i := range t.Rows {
		for k := range t.Cols {
			dt.Row(i)[k] += a[k] * ds.At(i, k/c)
			da[k] += ds.At(i, k/c) * t.At(i, k)
		}
	}
	return dt, da
}

// HeadMean returns bias[c] + Σ_h src[i][hC+c] / heads.
func HeadMean(src Matrix, cols int, bias []float64) Matrix {
	heads := src.Cols / cols
	return AddBias(Map(src.Rows, cols, func(i, c int) float64 {
		s := 0.0
		for h := range heads {
			s += src.At(i, h*cols+c)
		}
		return s / float64(heads)
	}), bias)
}

// HeadMeanBackward returns src[i][c] / heads in every head.
func HeadMeanBackward(src Matrix, heads int) Matrix {
	return Map(src.Rows, heads*src.Cols, func(i, k int) float64 { return src.At(i, k%src.Cols) / float64(heads) })
}

// GAT is attention over in-edges in one matrix: rows are destinations, columns index T and S. Inner and halo blocks of
// gpu.GATArgs are one matrix here, the halo's columns behind the inner ones.
type GAT struct {
	A     CSR
	T     Matrix // sources × heads·C
	S     Matrix // sources × heads
	D     Matrix // destinations × heads
	Slope float64
	Keep  func(u, v, h int) float64 // what weights are multiplied by; nil: 1
}

// kept returns m_uv of head h.
func kept(keep func(u, v, h int) float64, u, v, h int) float64 {
	if keep == nil {
		return 1
	}
	return keep(u, v, h)
}

func (g GAT) leaky(x float64) float64 {
	if x > 0 {
		return x
	}
	return g.Slope * x
}

// Forward returns O (without bias) and LSE.
func (g GAT) Forward() (o, lse Matrix) {
	heads, c := g.S.Cols, g.T.Cols/g.S.Cols
	o, lse = NewMatrix(g.A.Rows, g.T.Cols), NewMatrix(g.A.Rows, heads)
	for v := range g.A.Rows {
		edges := g.A.Row(v)
		if len(edges) == 0 {
			continue
		}
		for h := range heads {
			top, sum := math.Inf(-1), 0.0
			for _, e := range edges {
				top = math.Max(top, g.leaky(g.S.At(e.Col, h)+g.D.At(v, h)))
			}
			for _, e := range edges {
				sum += math.Exp(g.leaky(g.S.At(e.Col, h)+g.D.At(v, h)) - top)
			}
			lse.Row(v)[h] = top + math.Log(sum)
			for _, e := range edges {
				alpha := g.Alpha(e.Col, v, h, lse) * kept(g.Keep, e.Col, v, h)
				for k := h * c; k < (h+1)*c; k++ {
					o.Row(v)[k] += alpha * g.T.At(e.Col, k)
				}
			}
		}
	}
	return o, lse
}

// Alpha returns α_uv of head h.
func (g GAT) Alpha(u, v, h int, lse Matrix) float64 {
	return math.Exp(g.leaky(g.S.At(u, h)+g.D.At(v, h)) - lse.At(v, h))
}

// GATGrad is the gradient of GAT.
type GATGrad struct {
	G, DD  Matrix // destinations × heads
	DT, DS Matrix // sources × heads·C, sources × heads
}

// Backward returns the gradients for do, the gradient of O, with o (without bias) and lse of Forward. The sources' are
// sums over the same edges as the destinations'.
func (g GAT) Backward(do, o, lse Matrix) GATGrad {
	heads, c := g.S.Cols, g.T.Cols/g.S.Cols
	r := GATGrad{
		NewMatrix(g.A.Rows, heads), NewMatrix(g.A.Rows, heads),
		NewMatrix(g.T.Rows, g.T.Cols), NewMatrix(g.T.Rows, heads),
	}
	for v := range g.A.Rows {
		for h := range heads {
			for k := h * c; k < (h+1)*c; k++ {
				r.G.Row(v)[h] += do.At(v, k) * o.At(v, k)
			}
			for _, e := range g.A.Row(v) {
				alpha, m, dot := g.Alpha(e.Col, v, h, lse), kept(g.Keep, e.Col, v, h), 0.0
				for k := h * c; k < (h+1)*c; k++ {
					dot += do.At(v, k) * g.T.At(e.Col, k)
					r.DT.Row(e.Col)[k] += m * alpha * do.At(v, k)
				}
				slope := g.Slope
				if g.S.At(e.Col, h)+g.D.At(v, h) > 0 {
					slope = 1
				}
				de := alpha * (m*dot - r.G.At(v, h)) * slope
				r.DD.Row(v)[h] += de
				r.DS.Row(e.Col)[h] += de
			}
		}
	}
	return r
}
