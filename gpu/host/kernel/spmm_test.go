package kernel

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu/host/workers"
)

// spmmWidths cover every kernel width with and without a rest, and widths of several passes.
var spmmWidths = []int{
	0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 41, 47, 48, 49, 63, 64, 65, 80, 81, 95, 96, 97, 100, 112, 127, 128,
	129, 160, 180, 191, 192, 193, 200, 255, 256, 257, 300,
}

// spmmCase is a product with its operands in guarded memory.
type spmmCase struct {
	spmmArgs
	name string
}

// newSpmmCase draws a product of some width; each bit of options is one of the ways in which products differ.
func newSpmmCase(t *testing.T, r *rand.Rand, cols, options int) *spmmCase {
	has := func(bit int) bool { return options>>bit&1 != 0 }
	s := &spmmCase{name: fmt.Sprintf("width %d, options %06b", cols, options)}
	const xRows = 40
	s.a = randSparse(t, r, 29, xRows, has(0), has(1))
	s.y = randDense(t, r, s.a.Rows, cols, cols+r.IntN(3)*r.IntN(4)+1)
	ldx := cols + r.IntN(2)*r.IntN(9) + 1
	if has(2) {
		v := guarded[uint16](t, span(xRows, cols, ldx))
		for i := range v {
			v[i] = uint16(math.Float32bits(float32(r.NormFloat64())) >> 16)
		}
		s.x16 = Dense16{v, xRows, cols, ldx}
	} else {
		s.x = randDense(t, r, xRows, cols, ldx)
	}
	if has(3) {
		s.rowScale = randFloats(t, r, s.a.Rows)
	}
	if has(4) {
		s.colScale = randFloats(t, r, xRows)
	}
	s.accumulate = has(5)
	return s
}

// randSparse draws rows with 0 to 4 entries and one with 90, some cut short: the entries between end[k] and begin[k+1]
// have indices that may not be used. The first rows' entries do not begin at 0.
func randSparse(t *testing.T, r *rand.Rand, rows, cols int, listed, weighted bool) Sparse {
	s := Sparse{Rows: rows, Cols: cols}
	var begin, end []int64
	var idx []int32
	entries := func(n int, index func() int32) {
		for range n {
			idx = append(idx, index())
		}
	}
	invalid := func() int32 { return 1 << 30 }
	entries(r.IntN(4), invalid)
	for k := range rows {
		if listed && r.IntN(3) > 0 {
			continue
		}
		s.List = append(s.List, int32(k))
		n := r.IntN(5)
		if r.IntN(rows) == 0 {
			n = 90
		}
		begin = append(begin, int64(len(idx)))
		entries(n, func() int32 { return r.Int32N(int32(cols)) })
		end = append(end, int64(len(idx)))
		s.Entries += int64(n)
		if r.IntN(3) == 0 && len(idx) > 0 {
			entries(r.IntN(3), invalid)
		}
	}
	if !listed {
		s.List = nil
	}
	s.Begin, s.End = guarded[int64](t, len(begin)), guarded[int64](t, len(end))
	copy(s.Begin, begin)
	copy(s.End, end)
	last := len(idx)
	if len(end) > 0 {
		last = int(end[len(end)-1])
	}
	s.Idx = guarded[int32](t, last)
	copy(s.Idx, idx)
	if weighted {
		s.Val = randFloats(t, r, last)
	}
	return s
}

// reference returns the exact result and the bound on the error of any float32 sum, per element of y.
func (s *spmmCase) reference() (want, bound []float64) {
	rows := make(map[int]int, len(s.a.Begin))
	for k := range s.a.Begin {
		r := k
		if s.a.List != nil {
			r = int(s.a.List[k])
		}
		rows[r] = k
	}
	for r := range s.y.Rows {
		for j := range s.y.Cols {
			var sum, size float64
			n := 0.0
			if k, ok := rows[r]; ok {
				for e := s.a.Begin[k]; e < s.a.End[k]; e++ {
					v := s.term(e, j)
					sum += v
					size += math.Abs(v)
					n++
				}
				if s.rowScale != nil {
					sum *= float64(s.rowScale[r])
					size *= math.Abs(float64(s.rowScale[r]))
				}
			}
			if s.accumulate {
				old := float64(s.y.V[r*s.y.LD+j])
				sum += old
				size += math.Abs(old)
			}
			want = append(want, sum)
			bound = append(bound, (n+4)*unit*size)
		}
	}
	return want, bound
}

func (s *spmmCase) term(e int64, j int) float64 {
	i := int(s.a.Idx[e])
	var v float64
	if s.x.V != nil {
		v = float64(s.x.V[i*s.x.LD+j])
	} else {
		v = float64(math.Float32frombits(uint32(s.x16.V[i*s.x16.LD+j]) << 16))
	}
	if s.a.Val != nil {
		v *= float64(s.a.Val[e])
	}
	if s.colScale != nil {
		v *= float64(s.colScale[i])
	}
	return v
}

// run computes the case with some threads on a copy of y.
func (s *spmmCase) run(t *testing.T, threads int) Dense {
	t.Helper()
	y := s.y
	y.V = guarded[float32](t, len(s.y.V))
	copy(y.V, s.y.V)
	faults(t, s.name, func() {
		SpMM(&workers.Pool{Threads: threads}, &Scratch{}, y, s.a, s.x, s.x16, s.rowScale, s.colScale, s.accumulate, nil)
	})
	if err := gaps(y); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return y
}

// TestSpMM holds every row kernel to the loop and to the portable kernel, with operands at the end of memory.
func TestSpMM(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for i, cols := range spmmWidths {
			for options := range 64 {
				if (options+i)%3 != 0 && cols > 16 {
					continue
				}
				s := newSpmmCase(t, r, cols, options)
				got := s.run(t, 1)
				level := Active
				Active = generic
				twin := s.run(t, 1)
				Active = level
				want, bound := s.reference()
				for i, w := range want {
					at := i/cols*s.y.LD + i%cols
					g, p := float64(got.V[at]), float64(twin.V[at])
					if !(math.Abs(g-w) <= bound[i]) || math.Abs(g-p) > 2*bound[i] {
						t.Fatalf("%s: y[%d][%d] = %v, want %v ± %v, %v in Go", s.name, i/cols, i%cols, g, w, bound[i], p)
					}
				}
			}
		}
	})
}

// TestSpMMThreads checks that results do not depend on how rows are dealt out.
func TestSpMMThreads(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for options := 0; options < 64; options += 5 {
			s := newSpmmCase(t, r, 70, options)
			s.a = randSparse(t, r, 2000, 40, options&1 != 0, options&2 != 0)
			s.y = randDense(t, r, s.a.Rows, 70, 71)
			s.rowScale = nil
			one := s.run(t, 1)
			for threads := 2; threads <= 3; threads++ {
				if err := sameBits(s.run(t, threads).V, one.V); err != nil {
					t.Fatalf("%s: %d threads: %v", s.name, threads, err)
				}
			}
		}
	})
}

// TestSpMMEmpty covers matrices without stored rows and results without rows.
func TestSpMMEmpty(t *testing.T) {
	y := Dense{[]float32{1, 2}, 2, 1, 1}
	SpMM(&workers.Pool{Threads: 2}, &Scratch{}, y, Sparse{Rows: 2}, Dense{}, Dense16{}, nil, nil, true, nil)
	if y.V[0] != 1 || y.V[1] != 2 {
		t.Errorf("accumulating nothing: %v", y.V)
	}
	SpMM(&workers.Pool{Threads: 2}, &Scratch{}, y, Sparse{Rows: 2}, Dense{}, Dense16{}, nil, nil, false, nil)
	if y.V[0] != 0 || y.V[1] != 0 {
		t.Errorf("product of an empty matrix: %v", y.V)
	}
	SpMM(&workers.Pool{Threads: 1}, &Scratch{}, Dense{}, Sparse{}, Dense{}, Dense16{}, nil, nil, false, nil)
}

// TestSpMMPanels checks that panels of columns change no bit.
func TestSpMMPanels(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for options := range 64 {
			for _, cols := range []int{5, 64, 200} {
				s := newSpmmCase(t, r, cols, options)
				want := s.run(t, 1)
				if len(s.a.Idx) == 0 {
					continue
				}
				got := newSeen(s.y)
				faults(t, s.name, func() { s.inPanels(&workers.Pool{Threads: 2}, &spmmRoom{}, got.after) })
				if err := cmp.Or(sameBits(s.y.V, want.V), got.check()); err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
		}
	})
}

// TestSpMMScattered checks which products are computed in panels.
func TestSpMMScattered(t *testing.T) {
	const n = 60_000
	for _, c := range []struct {
		name         string
		cols, degree int
		reach        int // an entry's column is up to that far from its row
		want         bool
	}{
		{"anywhere", 256, 40, n, true},
		{"near by", 256, 40, 500, false},
		{"narrow", 64, 40, n, false},
		{"few entries", 256, 20, n, false},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		a := Sparse{Rows: n, Cols: n, Entries: int64(n * c.degree), Begin: make([]int64, n), End: make([]int64, n)}
		for v := range n {
			a.Begin[v] = int64(len(a.Idx))
			for range c.degree {
				a.Idx = append(a.Idx, int32((v+r.IntN(c.reach))%n))
			}
			a.End[v] = int64(len(a.Idx))
		}
		s := spmmArgs{a: a, x: Dense{make([]float32, 1), n, c.cols, c.cols}, y: Dense{nil, n, c.cols, c.cols}}
		if got := s.scattered(&spmmRoom{}); got != c.want {
			t.Errorf("%s: panels %v, want %v", c.name, got, c.want)
		}
	}
}
