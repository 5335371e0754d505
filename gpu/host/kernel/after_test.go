package kernel

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"capgnn/gpu/host/workers"
)

// seen notes for every row of y how it was when after was called with it.
type seen struct {
	mu   sync.Mutex
	y    Dense
	rows [][]float32
	errs []error
}

func newSeen(y Dense) *seen { return &seen{y: y, rows: make([][]float32, y.Rows)} }

func (s *seen) after(worker, lo, hi int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := lo; i < hi; i++ {
		if s.rows[i] != nil {
			s.errs = append(s.errs, fmt.Errorf("row %d twice", i))
		}
		s.rows[i] = append([]float32{}, s.y.Row(i)...)
	}
}

// check demands that every row was handed over once, as it is now.
func (s *seen) check() error {
	for i, row := range s.rows {
		if row == nil {
			return fmt.Errorf("row %d of %d was not handed over", i, len(s.rows))
		}
		if err := sameBits(row, s.y.Row(i)); err != nil {
			return fmt.Errorf("row %d was not final: %w", i, err)
		}
	}
	if len(s.errs) > 0 {
		return s.errs[0]
	}
	return nil
}

// TestAfter checks that products hand over every row of their result, once and final.
func TestAfter(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for options := range 64 {
			for _, rows := range []int{1, 29, 900} {
				s := newSpmmCase(t, r, 130, options)
				s.a = randSparse(t, r, rows, 40, options&1 != 0, options&2 != 0)
				s.y, s.rowScale = randDense(t, r, rows, 130, 131), nil
				got := newSeen(s.y)
				SpMM(&workers.Pool{Threads: 2}, &Scratch{}, s.y, s.a, s.x, s.x16, nil, s.colScale, s.accumulate, got.after)
				if err := got.check(); err != nil {
					t.Fatalf("%s, %d rows, %d stored: %v", s.name, rows, len(s.a.Begin), err)
				}
			}
		}
		for _, beta := range []float32{0, 1, 2} {
			for _, k := range []int{0, 3, gemmDepth + 3} {
				c := randDense(t, r, 1000, 17, 20)
				got := newSeen(c)
				gemmNN(&workers.Pool{Threads: 2}, &Scratch{}, c, randDense(t, r, 1000, k, k), randDense(t, r, k, 17, 17), false, beta, got.after)
				if err := got.check(); err != nil {
					t.Fatalf("gemm, k %d, beta %v: %v", k, beta, err)
				}
			}
		}
	})
}
