package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu/host/workers"
)

// gemmCase is a product with its operands, in guarded memory, and its exact result.
type gemmCase struct {
	c, a, b        Dense
	transA, transB bool
	beta           float32
	want, bound    []float64 // m×n; |got - want| ≤ bound holds for any order of the sum
}

func (g *gemmCase) String() string {
	return fmt.Sprintf("%d×%d, k %d, trans %v %v, beta %v, ld %d %d %d", g.c.Rows, g.c.Cols, g.depth(), g.transA, g.transB,
		g.beta, g.c.LD, g.a.LD, g.b.LD)
}

func (g *gemmCase) depth() int {
	if g.transA {
		return g.a.Rows
	}
	return g.a.Cols
}

func newGemmCase(t *testing.T, r *rand.Rand, m, n, k, mode int, beta float32) *gemmCase {
	pad := func() int { return r.IntN(3) * r.IntN(5) }
	matrix := func(rows, cols int) Dense { return randDense(t, r, rows, cols, cols+pad()) }
	g := &gemmCase{transA: mode == 2, transB: mode == 1, beta: beta, c: matrix(m, n)}
	g.a, g.b = matrix(m, k), matrix(k, n)
	if g.transA {
		g.a = matrix(k, m)
	}
	if g.transB {
		g.b = matrix(n, k)
	}
	for i := range m {
		for j := range n {
			var sum, size float64
			for e := range k {
				v := float64(g.at(g.a, i, e, g.transA)) * float64(g.at(g.b, e, j, g.transB))
				sum += v
				size += math.Abs(v)
			}
			old := &g.c.V[i*g.c.LD+j]
			if beta == 0 {
				*old = float32(math.NaN()) // must not be read
			} else {
				sum += float64(beta) * float64(*old)
				size += math.Abs(float64(beta) * float64(*old))
			}
			g.want = append(g.want, sum)
			g.bound = append(g.bound, float64(k+3)*unit*size)
		}
	}
	return g
}

func (g *gemmCase) at(m Dense, i, j int, trans bool) float32 {
	if trans {
		i, j = j, i
	}
	return m.V[i*m.LD+j]
}

// run computes the case on a copy of C with some threads and compares it with the exact result.
func (g *gemmCase) run(t *testing.T, sc *Scratch, threads int) Dense {
	t.Helper()
	c := g.c
	c.V = guarded[float32](t, len(g.c.V))
	copy(c.V, g.c.V)
	faults(t, g.String(), func() { gemm(&workers.Pool{Threads: threads}, sc, c, g.a, g.b, g.transA, g.transB, g.beta) })
	for i := range c.Rows {
		for j := range c.Cols {
			got, want, bound := float64(c.V[i*c.LD+j]), g.want[i*c.Cols+j], g.bound[i*c.Cols+j]
			if !(math.Abs(got-want) <= bound) {
				t.Fatalf("%v: C[%d][%d] = %v, want %v ± %v", g, i, j, got, want, bound)
			}
		}
	}
	if err := gaps(c); err != nil {
		t.Fatalf("%v: %v", g, err)
	}
	return c
}

// TestGemm holds every tile of every instruction set to the loop, with operands at the end of memory.
func TestGemm(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var sc Scratch
		for m := range 26 {
			for _, n := range []int{0, 1, 5, 8, 15, 16, 17, 31, 32, 33, 41, 48, 67} {
				k := []int{0, 1, 2, 7, 33}[r.IntN(5)]
				for mode := range 3 {
					beta := []float32{0, 1, -0.5}[r.IntN(3)]
					newGemmCase(t, r, m, n, k, mode, beta).run(t, &sc, 1)
				}
			}
		}
	})
}

// TestGemmBlocks covers sums that are cut: several passes over k, several parts of the rows, groups of C's rows; their
// bits are the same for any number of threads and, to rounding, the same as the portable tile's.
func TestGemmBlocks(t *testing.T) {
	shapes := [][3]int{{99, 20, gemmDepth + 65}, {30, 33, 2*gemmDepth + 1}, {7, 100, 50}, {25, 41, 5 * tnPartRows}, {200, 11, 600}}
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		var sc Scratch
		for _, s := range shapes {
			for mode := range 3 {
				g := newGemmCase(t, r, s[0], s[1], s[2], mode, []float32{0, 2}[r.IntN(2)])
				one := g.run(t, &sc, 1)
				for threads := 2; threads <= 3; threads++ {
					got := g.run(t, &sc, threads)
					if err := sameBits(got.V, one.V); err != nil {
						t.Fatalf("%v: %d threads: %v", g, threads, err)
					}
				}
				level := Active
				Active = generic
				twin := g.run(t, &sc, 1)
				Active = level
				for i, w := range twin.V {
					row, col := i/g.c.LD, i%g.c.LD
					if col < g.c.Cols && math.Abs(float64(w-one.V[i])) > 2*g.bound[row*g.c.Cols+col] {
						t.Fatalf("%v: element %d is %v, %v with the portable tile", g, i, one.V[i], w)
					}
				}
			}
		}
	})
}

// TestGemmPlan checks that the cut of a sum depends on shapes only and stays within its memory.
func TestGemmPlan(t *testing.T) {
	for _, s := range [][3]int{{256, 602, 230000}, {602, 256, 230000}, {41, 256, 1000}, {3000, 3000, 100000}, {1, 1, 1}, {5, 5, tnBlock * 17}} {
		var first tnPlan
		for _, threads := range []int{1, 2, 64} {
			p := planTN(gemmKernel(), s[0], s[1], s[2], threads)
			if threads == 1 {
				first = p
			}
			if p.rows != first.rows || p.parts != first.parts {
				t.Errorf("%v: %d threads change the sum: %+v, %+v", s, threads, p, first)
			}
			if p.parts > tnParts || p.parts > 1 && p.parts*p.width*p.m > tnPartFloats*11/10 || p.parts*p.rows < s[2] {
				t.Errorf("%v: plan %+v", s, p)
			}
			if (p.parts-1)*p.rows >= s[2] {
				t.Errorf("%v: empty part in %+v", s, p)
			}
		}
	}
}

// What products take besides their operands is within PartialLen and PackedLen, some cache lines apart.
func TestScratchOfProducts(t *testing.T) {
	const lines = 2 * 16
	for _, s := range [][3]int{{256, 602, 5000}, {41, 256, 1000}, {1, 1, 1}, {7, 130, 900}} {
		in, out, rows := s[0], s[1], s[2]
		for _, threads := range []int{1, 3} {
			p, sc := &workers.Pool{Threads: threads}, new(Scratch)
			of := func(rows, cols int) Dense { return Dense{make([]float32, rows*cols+64), rows, cols, cols} }
			a, b, w := of(rows, in), of(rows, out), of(in, out)
			gemm(p, sc, w, a, b, true, false, 0)
			if got, bound := cap(sc.parts)+cap(sc.room), PartialLen(rows, in, out, threads); got > bound+lines || got < bound {
				t.Errorf("%v, %d threads: partial sums take %d floats, announced %d", s, threads, got, bound)
			}
			gemm(p, sc, b, a, w, false, false, 0)
			gemm(p, sc, a, b, w, false, true, 0)
			if got, bound := cap(sc.panels), PackedLen(in, out); got > bound+lines || got < bound {
				t.Errorf("%v: packed weights take %d floats, announced %d", s, got, bound)
			}
		}
	}
}
