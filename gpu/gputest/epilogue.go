package gputest

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// epilogueCase is a combination of the epilogue's parts.
type epilogueCase struct {
	norm bool
	act  gpu.Activation
	p    float64
}

// epilogues are all combinations.
var epilogues = []epilogueCase{
	{false, gpu.NoActivation, 0}, {false, gpu.ReLU, 0}, {false, gpu.NoActivation, 0.5}, {false, gpu.ReLU, 0.3},
	{true, gpu.NoActivation, 0}, {true, gpu.ReLU, 0}, {true, gpu.NoActivation, 0.5}, {true, gpu.ReLU, 0.3},
	{false, gpu.LeakyReLU, 0}, {false, gpu.ELU, 0}, {false, gpu.Tanh, 0}, {false, gpu.LeakyReLU, 0.3}, {false, gpu.ELU, 0.3}, {false, gpu.Tanh, 0.3},
	{true, gpu.LeakyReLU, 0}, {true, gpu.ELU, 0}, {true, gpu.Tanh, 0}, {true, gpu.LeakyReLU, 0.3}, {true, gpu.ELU, 0.3}, {true, gpu.Tanh, 0.3},
}

// curveTerms is the error of a curved activation, of its derivative and of an output without dropout's factor, in roundings of their size.
const curveTerms = 8

// terms adds to k roundings those of a curved activation.
func (c epilogueCase) terms(k int) int {
	if c.act.Curved() {
		return k + curveTerms
	}
	return k
}

// combinations runs f for each of them.
func (b *bench) combinations(f func(b *bench, c epilogueCase)) {
	for _, c := range epilogues {
		b.scene(c.String(), func(b *bench) { f(b, c) })
	}
}

func (c epilogueCase) String() string {
	name := []string{"none", "relu", "leaky", "elu", "tanh"}[c.act]
	return fmt.Sprintf("norm%v_%s_p%g", c.norm, name, c.p)
}

// settings makes one epilogue for the device and for ref. Parameters lie on a grid: see bench.grid.
func (b *bench) settings(c epilogueCase, rows, cols int) (gpu.Epilogue, ref.Epilogue) {
	b.Helper()
	d := gpu.Epilogue{Norm: c.norm, Act: c.act, Eps: 1e-5}
	r := ref.Epilogue{Norm: c.norm, Act: ref.Activation(c.act), Eps: float64(float32(1e-5)), P: c.p}
	if c.norm {
		r.Gamma, r.Beta = b.grid(1, cols).V, b.grid(1, cols).V
		d.Gamma, d.Beta = b.vec(r.Gamma), b.vec(r.Beta)
	}
	if c.p == 0 {
		return d, r
	}
	ids := b.ints(rows, 1<<30)
	d.Dropout = gpu.Dropout{P: c.p, Seed: 0x123456789A, Layer: 2, Epoch: 7, IDs: array(b, ids)}
	r.Keep = func(i, j int) bool {
		words := gpu.Philox([4]uint32{uint32(j / 4), uint32(ids[i]), 2, 7}, gpu.SeedKey(d.Dropout.Seed))
		return float64(words[j%4]) >= math.Floor(c.p*(1<<32))
	}
	return d, r
}

func testEpilogue(b *bench) {
	b.combinations(func(b *bench, c epilogueCase) {
		b.dense(func(b *bench, s shape, l layout) { b.epilogueForward(c, s, l) })
	})
}

func (b *bench) epilogueForward(c epilogueCase, s shape, l layout) {
	b.Helper()
	z := b.grid(s.rows, s.cols)
	e, r := b.settings(c, s.rows, s.cols)
	e.Z, e.H = b.put(z, l), b.blank(s.rows, s.cols, l)
	if c.norm && s.rows > 0 && s.cols > 0 && s.cols != 31 { // 31: without Rstd, as in evaluation
		e.Rstd = b.vec(make([]float64, s.rows))
	}
	b.q.Epilogue(e)
	b.epilogue(e, r, z, 0)
	e.Z, e.H = b.put(z, l), b.blankOf(s.rows, s.cols, l, gpu.BF16)
	b.q.Epilogue(e)
	b.epilogue(e, r, z, 0)
	if !c.norm {
		e.Z = b.put(z, l)
		e.H = e.Z
		b.q.Epilogue(e)
		_, h, _ := r.Forward(z)
		b.near("H in place", b.get(e.H), h, c.terms(1), func(i, j int) float64 { return math.Abs(h.At(i, j)) })
	}
}

// epilogue compares the results of e on z, the sum of k terms each of the size of the row's largest element.
//
// x = (z - mu)·rstd: an error δ in z - mu, of the size of a rounding of the row's largest element, becomes δ·rstd; rstd is
// a sum of n squares, of relative error 1/2 of that sum's. Without Norm only the scale is rounded.
//
// No activation is steeper than 1, and none adds more than curveTerms roundings of its own result.
func (b *bench) epilogue(e gpu.Epilogue, r ref.Epilogue, z ref.Matrix, k int) {
	b.Helper()
	c := epilogueCase{act: e.Act}
	x, h, rstd := r.Forward(z)
	top := rowTops(z)
	if !e.Norm {
		if k == 0 {
			b.equal("Z", b.get(e.Z), z)
		}
		b.nearStored("H", e.H, h, c.terms(k+1), func(i, j int) float64 { return top[i] / (1 - r.P) })
		return
	}
	spread := rowTops(x)
	for i := range spread {
		spread[i] += top[i] * rstd[i]
	}
	terms := k + z.Cols + 4
	b.near("Z", b.get(e.Z), x, terms, func(i, j int) float64 { return spread[i] })
	b.nearStored("H", e.H, h, c.terms(terms), func(i, j int) float64 {
		return (math.Abs(r.Gamma[j])*spread[i] + math.Abs(r.Beta[j])) / (1 - r.P)
	})
	if !e.Rstd.Empty() {
		b.nearVec("Rstd", b.getVec(e.Rstd), rstd, terms, func(i int) float64 {
			return rstd[i] * (1 + top[i]*rstd[i])
		})
	}
}

// then runs a fused operation whose matrix product is z with every epilogue behind it, H in both element types. The sum of
// the product has the tolerance of k terms of the row's size: the operation's own case bounds it tighter.
func (b *bench) then(z ref.Matrix, k int, l layout, run func(dst gpu.Matrix, then *gpu.Epilogue)) {
	b.Helper()
	for i, c := range append(epilogues, epilogues...) {
		e, r := b.settings(c, z.Rows, z.Cols)
		dst := b.blank(z.Rows, z.Cols, l)
		e.H = b.blankOf(z.Rows, z.Cols, l, types[i/len(epilogues)])
		if c.norm {
			e.Rstd = b.vec(make([]float64, z.Rows))
		}
		run(dst, &e)
		e.Z = dst
		b.epilogue(e, r, z, k)
		if !c.norm {
			top := rowTops(z)
			b.near("Z", b.get(dst), z, k, func(i, j int) float64 { return top[i] })
		}
	}
}

// testEpilogueNaN demands that activations and dropout show a number that is none where it is, and LayerNorm in its whole row.
func testEpilogueNaN(b *bench) {
	b.combinations(func(b *bench, c epilogueCase) {
		const rows, cols = 5, 45
		z := b.grid(rows, cols)
		for i := 1; i < rows; i += 2 {
			z.Row(i)[9*i] = math.NaN()
		}
		e, r := b.settings(c, rows, cols)
		for _, t := range types {
			e.Z, e.H = b.put(z, layouts[0]), b.blankOf(rows, cols, layouts[0], t)
			b.q.Epilogue(e)
			h := b.get(e.H)
			b.get(e.Z)
			for k, v := range h.V {
				i, j := k/cols, k%cols
				want := i%2 == 1 && (c.norm || j == 9*i) && (r.Keep == nil || r.Keep(i, j))
				if math.IsNaN(v) != want {
					b.Fatalf("%v: H[%d][%d] is %v; NaN expected: %v", t, i, j, v, want)
				}
			}
		}
	})
}

func testEpilogueBackward(b *bench) {
	b.combinations(func(b *bench, c epilogueCase) {
		b.dense(func(b *bench, s shape, l layout) {
			for _, own := range []string{"DZ apart", "DZ is DH", "DZ is X", "DZ is bf16"} {
				b.epilogueBackward(c, s, l, own)
			}
		})
	})
}

func (b *bench) epilogueBackward(c epilogueCase, s shape, l layout, own string) {
	b.Helper()
	x, dh := b.grid(s.rows, s.cols), b.normal(s.rows, s.cols)
	rstd := absVec(b.normal(1, s.rows).V)
	e, r := b.settings(c, s.rows, s.cols)
	start := b.normal(3, s.cols)
	given := x // of which a gradient without LayerNorm and H is made: the output, or with ReLU the input as well
	if !c.norm && c.act.Curved() {
		_, given, _ = r.Forward(x)
	}
	g := gpu.EpilogueGrad{
		DH: b.put(dh, l), X: b.put(given, l), Norm: c.norm, Act: c.act, Gamma: e.Gamma, Beta: e.Beta, Dropout: e.Dropout,
	}
	switch own {
	case "DZ is DH":
		g.DZ = g.DH
	case "DZ is X":
		g.DZ = g.X
	case "DZ is bf16":
		g.DZ = b.blankOf(s.rows, s.cols, l, gpu.BF16)
	default:
		g.DZ = b.blank(s.rows, s.cols, l)
	}
	if c.norm {
		g.Rstd, g.DGamma, g.DBeta = b.vec(rstd), b.vec(start.Row(0)), b.vec(start.Row(1))
	}
	if own != "DZ is X" {
		g.DBias = b.vec(start.Row(2))
	}
	b.q.EpilogueBackward(g)
	want := r.Backward(dh, x, rstd)
	size := gradSizes(r, dh, x, rstd)
	b.nearStored(own, g.DZ, want.DZ, c.terms(s.cols+4), size.DZ.At)
	add := func(what string, v gpu.Vec, want, size, start []float64, k int) {
		for j := range want {
			want[j] += start[j]
			size[j] += math.Abs(start[j])
		}
		b.nearVec(what, b.getVec(v), want, k, func(j int) float64 { return size[j] })
	}
	if c.norm {
		add("DGamma", g.DGamma, want.DGamma, size.DGamma, start.Row(0), c.terms(s.rows+1))
		add("DBeta", g.DBeta, want.DBeta, size.DBeta, start.Row(1), c.terms(s.rows+1))
	}
	if !g.DBias.Empty() {
		add("DBias", g.DBias, want.DBias, size.DBias, start.Row(2), c.terms(s.rows+s.cols+4))
	}
}

// gradSizes adds the absolute values of the terms of ref.Epilogue.Backward.
func gradSizes(e ref.Epilogue, dh, x ref.Matrix, rstd []float64) ref.EpilogueGrad {
	n := dh.Cols
	s := ref.EpilogueGrad{
		DZ: ref.NewMatrix(dh.Rows, n), DGamma: make([]float64, n), DBeta: make([]float64, n), DBias: make([]float64, n),
	}
	for i := range dh.Rows {
		mean, meanX := 0.0, 0.0
		for j := range n {
			g := math.Abs(dh.At(i, j)) / (1 - e.P)
			s.DGamma[j] += g * math.Abs(x.At(i, j))
			s.DBeta[j] += g
			if e.Norm {
				g *= math.Abs(e.Gamma[j])
			}
			s.DZ.Row(i)[j] = g
			mean += g / float64(n)
			meanX += g * math.Abs(x.At(i, j)) / float64(n)
		}
		for j := range n {
			if e.Norm {
				s.DZ.Row(i)[j] = rstd[i] * (s.DZ.At(i, j) + mean + math.Abs(x.At(i, j))*meanX)
			}
			s.DBias[j] += s.DZ.At(i, j)
		}
	}
	return s
}

// rowTops returns the largest absolute value of each row.
func rowTops(m ref.Matrix) []float64 {
	tops := make([]float64, m.Rows)
	for i := range tops {
		tops[i] = largest(m.Row(i))
	}
	return tops
}

// largest returns the largest absolute value.
func largest(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m = max(m, math.Abs(x))
	}
	return m
}
