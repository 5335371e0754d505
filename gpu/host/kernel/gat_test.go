package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu/host/workers"
)

// gatShapes are heads and columns of each: every kernel width with and without a rest, heads that share a vector, widths of
// several passes, more heads than a group has.
var gatShapes = [][2]int{
	{1, 1}, {1, 2}, {1, 15}, {1, 16}, {1, 17}, {1, 41}, {1, 64}, {1, 71}, {1, 96}, {1, 112}, {1, 128}, {1, 199}, {1, 300},
	{2, 7}, {2, 64}, {2, 100}, {3, 1}, {3, 33}, {3, 67}, {4, 5}, {4, 20}, {4, 41}, {4, 64}, {5, 9}, {6, 16}, {7, 3}, {8, 8}, {8, 13},
	{8, 64}, {9, 4}, {17, 3},
}

// gatOperands are the operands of all GAT operations in guarded memory.
type gatOperands struct {
	forward GATForward
	dst     GATGradDst
	src     GATGradSrc
	scores  GATScoresGrad
	mean    Dense
}

func newGatOperands(t *testing.T, r *rand.Rand, heads, channels int) *gatOperands {
	const rows, halo = 29, 40
	cols := heads * channels
	matrix := func(rows, cols int) Dense { return randDense(t, r, rows, cols, cols+r.IntN(2)*r.IntN(9)) }
	ids := func(n int) []int32 {
		list := guarded[int32](t, n)
		for i := range list {
			list[i] = r.Int32()
		}
		return list
	}
	drop := EdgeDrop{On: r.IntN(2) == 0, Key: [2]uint32{r.Uint32(), r.Uint32()}, Layer: 5, Epoch: 3, Threshold: 1 << 30, Scale: 4. / 3, Rows: ids(rows)}
	bySource := drop
	bySource.BySource = true
	inner := GATSource{randSparse(t, r, rows, rows, false, false), matrix(rows, cols), matrix(rows, heads), ids(rows)}
	outer := GATSource{randSparse(t, r, rows, halo, true, false), matrix(halo, cols), matrix(halo, heads), ids(halo)}
	bias := randFloats(t, r, cols)
	if r.IntN(3) == 0 {
		bias = nil
	}
	o, lse, d, do, g := matrix(rows, cols), matrix(rows, heads), matrix(rows, heads), matrix(rows, cols), matrix(rows, heads)
	target := func(a Sparse, n int) GATTarget {
		return GATTarget{a, matrix(n, cols), matrix(n, heads), matrix(n, heads), matrix(n, heads), ids(n)}
	}
	vec := func() []float32 { return randFloats(t, r, cols) }
	s := &gatOperands{
		forward: GATForward{o, lse, d, inner, outer, bias, 0.25, drop, 2, rows - 1},
		dst:     GATGradDst{matrix(rows, heads), g, do, o, lse, d, inner, outer, bias, 0.25, drop},
		src: GATGradSrc{matrix(rows, cols), matrix(rows, heads), matrix(rows, cols), matrix(rows, heads),
			target(inner.A, rows), target(outer.A, halo), 0.25, bySource},
		scores: GATScoresGrad{matrix(rows, cols), matrix(rows, cols), matrix(rows, heads), Dense{}, vec(), nil, vec(), nil,
			heads, channels, cols},
		mean: matrix(rows, channels),
	}
	if r.IntN(2) == 0 {
		s.scores.DD, s.scores.Dst, s.scores.DDst = matrix(rows, heads), vec(), vec()
	}
	return s
}

// run runs every operation once, some heads at a time, with or without packed panels, and returns copies of what they wrote.
// Inputs that are results of earlier operations are those, and only additions need their old content back.
func (s *gatOperands) run(p *workers.Pool, sc *Scratch, most int, packed bool) map[string]Dense {
	heads, channels := s.scores.Heads, s.scores.Channels
	dt, dSrc, dDst := clone(s.scores.DT), clone(vector(s.scores.DSrc)), clone(vector(s.scores.DDst))
	for h := 0; h < heads; h += most {
		n := min(most, heads-h)
		forward, dst, src := s.forward.heads(h, n, channels), s.dst.heads(h, n, channels), s.src.heads(h, n, channels)
		if packed {
			copyPanels(p, sc, &forward.Inner.T, &forward.Halo.T, &forward.Inner.S, &forward.Halo.S)
		}
		gatAggregateHeads(p, sc, forward)
		if packed {
			copyPanels(p, sc, &dst.Inner.T, &dst.Halo.T, &dst.Inner.S, &dst.Halo.S)
		}
		gatBackwardDstHeads(p, sc, dst)
		if packed {
			i, o := &src.Inner, &src.Halo
			copyPanels(p, sc, &i.DO, &o.DO, &i.D, &o.D, &i.LSE, &o.LSE, &i.G, &o.G)
		}
		gatBackwardSrcHeads(p, sc, src)
		gatScoresBackwardHeads(p, sc, s.scores.part(h, n))
	}
	GATMean(heads, s.mean, s.forward.O, nil)
	out := map[string]Dense{
		"O": clone(s.forward.O), "LSE": clone(s.forward.LSE), "G": clone(s.dst.G), "DD": clone(s.dst.DD), "DT": clone(s.src.DT),
		"DS": clone(s.src.DS), "scores DT": clone(s.scores.DT), "DASrc": clone(vector(s.scores.DSrc)),
		"DADst": clone(vector(s.scores.DDst)), "mean": clone(s.mean),
	}
	copy(s.scores.DT.V, dt.V)
	copy(s.scores.DSrc, dSrc.V)
	copy(s.scores.DDst, dDst.V)
	return out
}

func vector(v []float32) Dense { return Dense{v, min(1, len(v)), len(v), max(1, len(v))} }

func clone(m Dense) Dense {
	m.V = append([]float32(nil), m.V...)
	return m
}

// TestAttentionKernels compares the assembly with the portable kernels, and panels with whole rows, in memory that ends where
// they must.
func TestAttentionKernels(t *testing.T) {
	p, sc := &workers.Pool{Threads: 2}, &Scratch{}
	for _, shape := range gatShapes {
		r := rand.New(rand.NewPCG(uint64(shape[0]), uint64(shape[1])))
		s := newGatOperands(t, r, shape[0], shape[1])
		var want map[string]Dense
		forLevels(t, func(t *testing.T) {
			name := fmt.Sprintf("%d heads of %d columns", shape[0], shape[1])
			for _, most := range []int{gatHeads, 1, 2} {
				var got map[string]Dense
				faults(t, name, func() { got = s.run(p, sc, most, most < gatHeads) })
				if want == nil {
					want = got
				}
				for what, m := range got {
					if err := gaps(m); err != nil {
						t.Errorf("%s, %d at a time: %s: %v", name, most, what, err)
					}
					if err := closeTo(m, want[what]); err != nil {
						t.Errorf("%s, %d at a time: %s: %v", name, most, what, err)
					}
				}
			}
		})
	}
}

// closeTo returns an error if elements differ by more than 2⁻¹⁶ of the largest one: sums of at most 100 terms of about that
// size each, rounded to float32 in two orders.
func closeTo(got, want Dense) error {
	top := 1.0
	for i := range want.Rows {
		for _, v := range want.Row(i) {
			top = max(top, math.Abs(float64(v)))
		}
	}
	for i := range want.Rows {
		for j, v := range want.Row(i) {
			if g := got.Row(i)[j]; !(math.Abs(float64(g)-float64(v)) <= top*0x1p-16) {
				return fmt.Errorf("[%d][%d] is %g, portable kernels give %g", i, j, g, v)
			}
		}
	}
	return nil
}

// TestAttentionPowers holds the exponentials of the kernels to the error that gen/gat_math.go states, over all of float32's
// normal results, and their logarithms to a unit in the last place.
func TestAttentionPowers(t *testing.T) {
	sc := &Scratch{}
	forLevels(t, func(t *testing.T) {
		const n = 4001
		x := Dense{make([]float32, n), n, 1, 1}
		idx := make([]int32, n)
		for i := range x.V {
			x.V[i], idx[i] = -87.3+175.6*float32(i)/n, int32(i)
		}
		zero := Dense{make([]float32, n), n, 1, 1}
		w := &sc.attentions(1, 1, 1, false)[0]
		list := []gatSegment{{0, n, 0, 0, gatFirst | gatLast}}
		w.weightsSrc(list, zero, &GATTarget{A: Sparse{Idx: idx}, D: x, LSE: zero, G: zero}, 1)
		for i, v := range x.V {
			want := math.Exp(float64(v))
			if got := float64(w.weight[0][i]); math.Abs(got-want) > 2.5e-7*want {
				t.Fatalf("e^%g is %g, want %g: relative error %.3g", v, got, want, math.Abs(got-want)/want)
			}
		}
		for i, c := range [][2]float64{{math.Inf(-1), 0}, {-1000, 0}, {0, 1}, {math.NaN(), math.NaN()}} {
			x.V[i] = float32(c[0])
			w.weightsSrc(list, zero, &GATTarget{A: Sparse{Idx: idx}, D: x, LSE: zero, G: zero}, 1)
			if got := float64(w.weight[0][i]); got != c[1] && !(math.IsNaN(got) && math.IsNaN(c[1])) {
				t.Errorf("e^%g is %g, want %g", c[0], got, c[1])
			}
		}
		var lse [1]float32
		for n := 1; n < gatWeights; n += 1 + n/7 {
			list[0].n = int64(min(n, len(idx)))
			w.softmax(list, idx, zero, zero, 1, Dense{lse[:], 1, 1, 1})
			want := float32(math.Log(float64(list[0].n)))
			if d := int64(math.Float32bits(lse[0])) - int64(math.Float32bits(want)); d < -1 || d > 1 {
				t.Errorf("log %d is %g, want %g: %d units off", list[0].n, lse[0], want, d)
			}
		}
	})
}

// TestAttentionNaN shows that a score that is no number reaches the results of its row and head, and no other.
func TestAttentionNaN(t *testing.T) {
	p, sc := &workers.Pool{Threads: 1}, &Scratch{}
	forLevels(t, func(t *testing.T) {
		s := newGatOperands(t, rand.New(rand.NewPCG(1, 2)), 3, 9)
		const row, head = 7, 1
		s.forward.D.Row(row)[head] = float32(math.NaN())
		s.forward.Inner.A = Sparse{Begin: make([]int64, 29), End: make([]int64, 29), Idx: []int32{0, 1, 2, 3, 4}, Rows: 29, Cols: 29, Entries: 5}
		for v := range 29 {
			s.forward.Inner.A.End[v] = 5
			s.forward.Inner.A.Begin[v] = 5
		}
		s.forward.Inner.A.Begin[row], s.forward.Halo.A = 0, Sparse{List: []int32{}, Rows: 29}
		for v := range row {
			s.forward.Inner.A.Begin[v], s.forward.Inner.A.End[v] = 0, 0
		}
		GATAggregate(p, sc, &s.forward)
		for v := s.forward.Lo; v < s.forward.Hi; v++ {
			for j, x := range s.forward.O.Row(v) {
				if nan := v == row && j/9 == head; (x != x) != nan {
					t.Errorf("O[%d][%d] is %g", v, j, x)
				}
			}
			for h, x := range s.forward.LSE.Row(v) {
				if nan := v == row && h == head; (x != x) != nan {
					t.Errorf("LSE[%d][%d] is %g", v, h, x)
				}
			}
		}
	})
}
