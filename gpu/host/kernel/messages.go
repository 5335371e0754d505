package kernel

import "capgnn/gpu"

// Messages is a resolved gpu.MessageArgs. T of a source is C, and S is X.
type Messages struct {
	Y, R            Dense
	Inner, Halo     GATSource
	F               Map
	Max, Accumulate bool
}

// Rows makes rows lo to hi of Y. room holds as many elements as a row.
func (m *Messages) Rows(lo, hi int, room []float32) {
	inner, halo := newRowCursor(m.Inner.A, lo), newRowCursor(m.Halo.A, lo)
	for r := lo; r < hi; r++ {
		y := m.Y.Row(r)
		if !m.Accumulate {
			clear(y)
		}
		from, n := inner.row(r)
		any := m.row(y, r, &m.Inner, from, n, room[:len(y)], false)
		from, n = halo.row(r)
		m.row(y, r, &m.Halo, from, n, room[:len(y)], any)
	}
}

// row brings entries of a block to row r. any says whether there was one before; row returns whether there was one.
func (m *Messages) row(y []float32, r int, of *GATSource, from, n int64, f []float32, any bool) bool {
	for e := from; e < from+n; e++ {
		val := float32(1)
		if of.A.Val != nil {
			val = of.A.Val[e]
		}
		if m.Max && val == 0 {
			continue
		}
		s := int(of.A.Idx[e])
		m.message(f, r, of.T.Row(s))
		if !of.S.Empty() {
			for j, x := range of.S.Row(s)[:len(f)] {
				f[j] *= x
			}
		}
		switch {
		case !m.Max:
			for j, x := range f {
				y[j] += float32(val * x)
			}
		case !any:
			copy(y, f)
		default:
			for j, x := range f {
				if x > y[j] || x != x {
					y[j] = x
				}
			}
		}
		any = true
	}
	return any
}

// message leaves f(R[r] + c) in y.
func (m *Messages) message(y []float32, r int, c []float32) {
	copy(y, c)
	if !m.R.Empty() {
		for j, x := range m.R.Row(r)[:len(y)] {
			y[j] += x
		}
	}
	if m.F.F == gpu.MapIdentity && !m.F.Slope {
		return
	}
	for j, x := range y {
		y[j] = m.F.of(x)
	}
}
