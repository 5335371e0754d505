package ref

import "math"

// Adam holds the settings of gpu.AdamArgs.
type Adam struct {
	LR, Beta1, Beta2, Eps, WeightDecay float64
	Decoupled                          bool
}

// Step changes p, m, v and, if not nil, vMax in place for gradient g at step t ≥ 1. As torch.optim.Adam and AdamW.
func (a Adam) Step(p, g, m, v, vMax []float64, t int) {
	for i := range p {
		d := g[i]
		if a.Decoupled {
			p[i] -= a.LR * a.WeightDecay * p[i]
		} else {
			d += a.WeightDecay * p[i]
		}
		m[i] = a.Beta1*m[i] + (1-a.Beta1)*d
		v[i] = a.Beta2*v[i] + (1-a.Beta2)*d*d
		second := v[i]
		if vMax != nil {
			vMax[i] = math.Max(vMax[i], v[i])
			second = vMax[i]
		}
		c1, c2 := 1-math.Pow(a.Beta1, float64(t)), 1-math.Pow(a.Beta2, float64(t))
		p[i] -= a.LR / c1 * m[i] / (math.Sqrt(second)/math.Sqrt(c2) + a.Eps)
	}
}

// SGD changes p in place: p[i] -= lr·(g[i] + decay·p[i]).
func SGD(p, g []float64, lr, decay float64) {
	for i := range p {
		p[i] -= lr * (g[i] + decay*p[i])
	}
}
