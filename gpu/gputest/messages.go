package gputest

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// testMessages runs every function on graphs in two blocks, with and without what is added to it and multiplied, and looks for the
// largest. Elements are on a grid, so that sums are exact and equal ones meet.
func testMessages(b *bench) {
	n := 0
	for _, name := range graphNames {
		inner := b.graphs()[name]
		for _, cols := range []int{0, 1, 3, 31, 32, 33, 130} {
			b.scene(name, func(b *bench) {
				for i, f := range maps {
					for _, slope := range []bool{false, true} {
						if n++; cols < 4 || i%8 == n%5 {
							b.messages(inner, f, slope, cols, n)
						}
					}
				}
			})
		}
	}
	b.scene("not_a_number", func(b *bench) {
		one := ref.CSR{Rows: 1, Cols: 3, Begin: []int64{0}, End: []int64{3}, Indices: []int32{0, 1, 2}, Val: []float64{1, 1, 0}}
		y := b.blank(1, 2, layouts[0])
		c := ref.Matrix{Rows: 3, Cols: 2, V: []float64{math.NaN(), -5, 7, -4, 8, math.NaN()}}
		b.q.Messages(gpu.MessageArgs{Y: y, Inner: b.csr(one), C: b.put(c, layouts[0]), Max: true})
		if got := b.get(y).V; !math.IsNaN(got[0]) || got[1] != -4 {
			b.Errorf("largest of NaN and 7, and of -5 and -4: got %v", got)
		}
	})
}

// messages runs one function. n says which operands there are.
func (b *bench) messages(inner ref.CSR, m mapped, slope bool, cols, n int) {
	f, l := m.y, layouts[n%len(layouts)]
	if slope {
		f = m.slope
	}
	halo := b.random(inner.Rows, 7, 3)
	if n%3 == 0 {
		inner.Val = ref.Map(1, len(inner.Indices), func(_, j int) float64 { return float64(j%4) / 2 }).V
		halo.Val = ref.Map(1, len(halo.Indices), func(_, j int) float64 { return float64(j%3) / 2 }).V
	}
	part := func(rows int, there bool) ref.Matrix {
		if !there {
			return ref.Matrix{Cols: cols}
		}
		return ref.Map(rows, cols, func(i, j int) float64 {
			switch x := b.rng.IntN(17); {
			case m.positive:
				return float64(x+1) / 16
			case m.f == gpu.MapClamp: // beside its bounds
				return float64(4*x-31) / 32
			default:
				return float64(x-8) / 8
			}
		})
	}
	c, x := part(inner.Cols+halo.Cols, true), part(inner.Cols+halo.Cols, n&1 != 0)
	a := ref.Messages{A: join(inner, halo), R: part(inner.Rows, n&2 != 0), C: c, X: x, F: f, Max: n%5 < 2}
	a.Accumulate = !a.Max && n&4 != 0
	a.Y = b.normal(inner.Rows, cols)
	args := gpu.MessageArgs{Y: b.blank(inner.Rows, cols, l), Inner: b.csr(inner), Halo: b.csr(halo), F: m.f, A: float32(m.a), B: float32(m.b),
		Slope: slope, Max: a.Max, Accumulate: a.Accumulate, C: b.put(rows(c, 0, inner.Cols), l), CHalo: b.put(rows(c, inner.Cols, c.Rows), l)}
	if a.Accumulate {
		args.Y = b.put(a.Y, l)
	}
	if a.R.Rows > 0 {
		args.R = b.put(a.R, l)
	}
	if x.Rows > 0 {
		args.X, args.XHalo = b.put(rows(x, 0, inner.Cols), l), b.put(rows(x, inner.Cols, x.Rows), l)
	}
	b.q.Messages(args)
	want, size := a.Run()
	b.near(fmt.Sprintf("function %d, slope %v, largest %v", m.f, slope, a.Max), b.get(args.Y), want, 8+longest(a.A), func(i, j int) float64 { return 1 + 4*size.At(i, j) })
	if a.Max && m.f == gpu.MapIdentity && !slope { // an element itself, so that it is found again
		for i, v := range b.get(args.Y).V {
			if v != want.V[i] && x.Rows+a.R.Rows == 0 {
				b.Errorf("largest element %d: got %g, want %g", i, v, want.V[i])
			}
		}
	}
}
