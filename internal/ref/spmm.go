package ref

// Aggregate holds the arguments of gpu.AggregateArgs; RowScale, ColScale and Bias may be left out.
type Aggregate struct {
	A                        CSR
	X                        Matrix
	RowScale, ColScale, Bias []float64
	Accumulate               bool
	Y                        Matrix // read if Accumulate
}

// Run returns Y[r][j] = rs[r]·Σ_e Val[e]·cs[Indices[e]]·X[Indices[e]][j] (+ Y[r][j] if Accumulate) + Bias[j].
func (a Aggregate) Run() Matrix {
	y := NewMatrix(a.A.Rows, a.X.Cols)
	if a.Accumulate {
		y = a.Y.Clone()
	}
	for r := range a.A.Rows {
		edges := a.A.Row(r)
		for j := range a.X.Cols {
			t := 0.0
			for _, e := range edges {
				t += e.Val * at(a.ColScale, e.Col) * a.X.At(e.Col, j)
			}
			y.Row(r)[j] += at(a.RowScale, r) * t
		}
	}
	return AddBias(y, a.Bias)
}

// at returns scale[i], or 1 where there is no scale.
func at(scale []float64, i int) float64 {
	if scale == nil {
		return 1
	}
	return scale[i]
}
