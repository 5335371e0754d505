package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The gradients of this package are the judges of every backend, so they are judged here by central differences. With
// step h the truncation error is O(h²) and rounding costs 1e-16/h: h = 1e-5 leaves about 1e-9 of the values around 1.
const (
	step  = 1e-5
	limit = 1e-7
)

var rng = rand.New(rand.NewPCG(3, 4))

func normal(rows, cols int) Matrix {
	return Map(rows, cols, func(i, j int) float64 { return rng.NormFloat64() })
}

// derivative demands that grad is the gradient of f with respect to v.
func derivative(t *testing.T, what string, v, grad []float64, f func() float64) {
	t.Helper()
	for i := range v {
		x := v[i]
		v[i] = x + step
		up := f()
		v[i] = x - step
		down := f()
		v[i] = x
		if want := (up - down) / (2 * step); math.Abs(grad[i]-want) > limit*(1+math.Abs(want)) {
			t.Errorf("%s[%d]: got %.9g, want %.9g", what, i, grad[i], want)
		}
	}
}

func TestEpilogueBackward(t *testing.T) {
	for _, norm := range []bool{false, true} {
		for act := NoActivation; act <= Tanh; act++ {
			t.Run(fmt.Sprintf("norm=%v,activation=%d", norm, act), func(t *testing.T) {
				const rows, cols = 4, 7
				z, dh := normal(rows, cols), normal(rows, cols)
				bias := make([]float64, cols)
				e := Epilogue{
					Norm: norm, Act: act, Gamma: normal(1, cols).V, Beta: normal(1, cols).V, Eps: 1e-5,
					P: 0.25, Keep: func(i, j int) bool { return (i+j)%3 != 0 },
				}
				f := func() float64 {
					_, h, _ := e.Forward(AddBias(z, bias))
					return Dot(h, dh)
				}
				x, _, rstd := e.Forward(z)
				g := e.Backward(dh, x, rstd)
				derivative(t, "dz", z.V, g.DZ.V, f)
				derivative(t, "dbias", bias, g.DBias, f)
				if norm {
					derivative(t, "dgamma", e.Gamma, g.DGamma, f)
					derivative(t, "dbeta", e.Beta, g.DBeta, f)
				}
			})
		}
	}
}

func TestGATBackward(t *testing.T) {
	const sources, heads, channels = 5, 2, 3
	a := CSR{
		Rows: 4, Cols: sources, Begin: []int64{0, 3, 3, 4}, End: []int64{3, 3, 4, 8},
		Indices: []int32{0, 2, 4, 1, 0, 1, 3, 3},
	}
	g := GAT{A: a, T: normal(sources, heads*channels), S: normal(sources, heads), D: normal(4, heads), Slope: 0.2}
	do := normal(4, heads*channels)
	f := func() float64 {
		o, _ := g.Forward()
		return Dot(o, do)
	}
	o, lse := g.Forward()
	grad := g.Backward(do, o, lse)
	derivative(t, "dT", g.T.V, grad.DT.V, f)
	derivative(t, "dS", g.S.V, grad.DS.V, f)
	derivative(t, "dD", g.D.V, grad.DD.V, f)
}

func TestGATv2Backward(t *testing.T) {
	const sources, heads, channels = 5, 2, 3
	a := CSR{
		Rows: 4, Cols: sources, Begin: []int64{0, 3, 3, 4}, End: []int64{3, 3, 4, 8},
		Indices: []int32{0, 2, 4, 1, 0, 1, 3, 3},
	}
	g := GATv2{A: a, T: normal(sources, heads*channels), R: normal(4, heads*channels), Att: normal(1, heads*channels).V, Heads: heads, Slope: 0.2}
	do := normal(4, heads*channels)
	f := func() float64 {
		o, _ := g.Forward()
		return Dot(o, do)
	}
	o, lse := g.Forward()
	grad := g.Backward(do, o, lse)
	derivative(t, "dT", g.T.V, grad.DT.V, f)
	derivative(t, "dR", g.R.V, grad.DR.V, f)
	derivative(t, "dAtt", g.Att, ColSum(nil, grad.DA, 0), f)
}

func TestGATScoresBackward(t *testing.T) {
	x, a, ds := normal(4, 6), normal(1, 6).V, normal(4, 2)
	f := func() float64 { return Dot(GATScores(x, a, 2), ds) }
	dt, da := GATScoresBackward(x, NewMatrix(4, 6), ds, a, make([]float64, 6))
	derivative(t, "dT", x.V, dt.V, f)
	derivative(t, "da", a, da, f)
}

func TestHeadMeanBackward(t *testing.T) {
	x, g := normal(3, 8), normal(3, 4)
	derivative(t, "dsrc", x.V, HeadMeanBackward(g, 2).V, func() float64 { return Dot(HeadMean(x, 4, nil), g) })
}

func TestLossGradients(t *testing.T) {
	x := normal(5, 4)
	labels := []int32{0, -1, 3, 2, 1}
	_, grad := SoftmaxLoss(x, labels, 0.25)
	derivative(t, "softmax", x.V, grad.V, func() float64 {
		loss, _ := SoftmaxLoss(x, labels, 0.25)
		return loss
	})
	targets := []uint8{0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1}
	mask := []uint8{1, 0, 1, 1, 1}
	_, grad = BCELoss(x, targets, mask, 0.05)
	derivative(t, "bce", x.V, grad.V, func() float64 {
		loss, _ := BCELoss(x, targets, mask, 0.05)
		return loss
	})
}

// TestAdjoint: ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ for the products, the transpose made by hand.
func TestAdjoint(t *testing.T) {
	a := CSR{
		Rows: 6, Cols: 4, Begin: []int64{1, 4, 6}, End: []int64{3, 6, 6}, Indices: []int32{3, 0, 1, 2, 2, 3},
		Val: normal(1, 6).V, List: []int32{0, 3, 5},
	}
	turned := CSR{ // entries of a: (0,0)=v1, (0,1)=v2, (3,2)=v4, (3,3)=v5
		Rows: 4, Cols: 6, Begin: []int64{0, 1, 2, 3}, End: []int64{1, 2, 3, 4}, Indices: []int32{0, 0, 3, 3},
		Val: []float64{a.Val[1], a.Val[2], a.Val[4], a.Val[5]},
	}
	x, y := normal(4, 3), normal(6, 3)
	left := Dot(Aggregate{A: a, X: x}.Run(), y)
	right := Dot(x, Aggregate{A: turned, X: y}.Run())
	if math.Abs(left-right) > 1e-12*(1+math.Abs(left)) {
		t.Errorf("<Ax,y> = %g, <x,A'y> = %g", left, right)
	}
	w := normal(3, 5)
	g := normal(4, 5)
	left = Dot(Gemm(x, w, false, false, 0, Matrix{}), g)
	if right := Dot(x, Gemm(g, w, false, true, 0, Matrix{})); math.Abs(left-right) > 1e-12*(1+math.Abs(left)) {
		t.Errorf("<XW,G> = %g, <X,GW'> = %g", left, right)
	}
	if right := Dot(w, Gemm(x, g, true, false, 0, Matrix{})); math.Abs(left-right) > 1e-12*(1+math.Abs(left)) {
		t.Errorf("<XW,G> = %g, <W,X'G> = %g", left, right)
	}
}

// TestAdamMoves: the first step of Adam is LR·sign(g) but for eps, whatever the size of g (Kingma and Ba, §2.1).
func TestAdamMoves(t *testing.T) {
	a := Adam{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	p, g := []float64{1, 1, 1}, []float64{3, -0.5, 1e-3}
	a.Step(p, g, make([]float64, 3), make([]float64, 3), nil, 1)
	for i, want := range []float64{0.99, 1.01, 0.99} {
		if math.Abs(p[i]-want) > 1e-6 {
			t.Errorf("param %d: got %g, want %g", i, p[i], want)
		}
	}
}

func TestBF16(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{1, 1}, {-0.15625, -0.15625}, {1.00390625, 1}, {1.01171875, 1.015625}, {3.4e38, math.Inf(1)},
		{-3.4e38, math.Inf(-1)}, {math.Ldexp(1, -133), math.Ldexp(1, -133)}, {math.Ldexp(1, -134), 0},
	} {
		if got := BF16(c.x); got != c.want {
			t.Errorf("BF16(%g) = %g, want %g", c.x, got, c.want)
		}
	}
}
