package ref

import "math"

// Dots is attention over in-edges in one matrix whose scores are products of rows: rows are destinations, columns index
// K and V. Entries of Val 0 are none. Inner and halo blocks of gpu.DotArgs are one matrix here, the halo's columns
// behind the inner ones.
type Dots struct {
	A     CSR
	Q     Matrix // destinations × heads·C
	K, V  Matrix // sources × heads·C
	Heads int
	Keep  func(u, v, h int) float64 // as GAT's
}

// entries returns those of a row.
func (d Dots) entries(v int) (list []Edge) {
	for _, e := range d.A.Row(v) {
		if e.Val != 0 {
			list = append(list, e)
		}
	}
	return list
}

// Score returns e_uv of head h.
func (d Dots) Score(u, v, h int) float64 { return d.product(d.Q, v, d.K, u, h) }

func (d Dots) product(x Matrix, i int, y Matrix, j, h int) (s float64) {
	c := x.Cols / d.Heads
	for k := h * c; k < (h+1)*c; k++ {
		s += x.At(i, k) * y.At(j, k)
	}
	return s
}

// Forward returns O and LSE.
func (d Dots) Forward() (o, lse Matrix) {
	c := d.V.Cols / d.Heads
	o, lse = NewMatrix(d.A.Rows, d.V.Cols), NewMatrix(d.A.Rows, d.Heads)
	for v := range d.A.Rows {
		for h := range d.Heads {
			top, sum := math.Inf(-1), 0.0
			for _, e := range d.entries(v) {
				top = math.Max(top, d.Score(e.Col, v, h))
			}
			for _, e := range d.entries(v) {
				sum += math.Exp(d.Score(e.Col, v, h) - top)
			}
			if sum > 0 {
				lse.Row(v)[h] = top + math.Log(sum)
			}
			for _, e := range d.entries(v) {
				alpha := math.Exp(d.Score(e.Col, v, h)-lse.At(v, h)) * kept(d.Keep, e.Col, v, h)
				for k := h * c; k < (h+1)*c; k++ {
					o.Row(v)[k] += alpha * d.V.At(e.Col, k)
				}
			}
		}
	}
	return o, lse
}

// DotsGrad is the gradient of Dots.
type DotsGrad struct {
	G      Matrix // destinations × heads
	DQ     Matrix // destinations × heads·C
	DK, DV Matrix // sources × heads·C
}

// Backward returns the gradients for do, the gradient of O, with o and lse of Forward.
func (d Dots) Backward(do, o, lse Matrix) DotsGrad {
	c := d.V.Cols / d.Heads
	r := DotsGrad{NewMatrix(d.A.Rows, d.Heads), NewMatrix(d.A.Rows, d.V.Cols), NewMatrix(d.V.Rows, d.V.Cols),
		NewMatrix(d.V.Rows, d.V.Cols)}
	for v := range d.A.Rows {
		for h := range d.Heads {
			r.G.Row(v)[h] = d.product(do, v, o, v, h)
			for _, e := range d.entries(v) {
				alpha, m := math.Exp(d.Score(e.Col, v, h)-lse.At(v, h)), kept(d.Keep, e.Col, v, h)
				de := alpha * (m*d.product(do, v, d.V, e.Col, h) - r.G.At(v, h))
				for k := h * c; k < (h+1)*c; k++ {
					r.DQ.Row(v)[k] += de * d.K.At(e.Col, k)
					r.DK.Row(e.Col)[k] += de * d.Q.At(v, k)
					r.DV.Row(e.Col)[k] += m * alpha * do.At(v, k)
				}
			}
		}
	}
	return r
}
