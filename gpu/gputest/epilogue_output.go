package gputest

import "capgnn/gpu"

// testEpilogueOutput demands that the backward pass makes the output of Epilogue again, bit for bit, beside X and in its
// place, and that its other results are those of a call without H.
func testEpilogueOutput(b *bench) {
	b.combinations(func(b *bench, c epilogueCase) {
		b.dense(func(b *bench, s shape, l layout) {
			z, dh := b.grid(s.rows, s.cols), b.normal(s.rows, s.cols)
			e, _ := b.settings(c, s.rows, s.cols)
			e.Z, e.H = b.put(z, l), b.blank(s.rows, s.cols, l)
			if c.norm && s.rows > 0 {
				e.Rstd = b.vec(make([]float64, s.rows))
			}
			b.q.Epilogue(e)
			h, x := b.get(e.H), b.get(e.Z)
			var without, rstd []float64
			if c.norm && s.rows > 0 {
				rstd = b.getVec(e.Rstd)
			}
			for i, place := range []string{"without H", "H apart", "H is X"} {
				given := x
				if i == 0 && !c.norm && c.act.Curved() { // without H, X is the output
					given = h
				}
				g := gpu.EpilogueGrad{DH: b.put(dh, l), X: b.put(given, l), DZ: b.blank(s.rows, s.cols, l), Norm: c.norm, Act: c.act,
					Gamma: e.Gamma, Beta: e.Beta, Dropout: e.Dropout}
				if c.norm {
					zero := make([]float64, s.cols)
					g.Rstd, g.DGamma, g.DBeta = b.vec(rstd), b.vec(zero), b.vec(zero)
				}
				switch i {
				case 1:
					g.H = b.blank(s.rows, s.cols, l)
				case 2:
					g.H = g.X
				}
				b.q.EpilogueBackward(g)
				if i > 0 {
					b.equal(place, b.get(g.H), h)
				}
				results := append([]float64{}, b.get(g.DZ).V...)
				if c.norm {
					results = append(append(results, b.getVec(g.DGamma)...), b.getVec(g.DBeta)...)
				}
				if i == 0 {
					without = results
				}
				for j, v := range results {
					if v != without[j] {
						b.Errorf("%s: result %d is %v, without H %v", place, j, v, without[j])
						break
					}
				}
			}
		})
	})
}
