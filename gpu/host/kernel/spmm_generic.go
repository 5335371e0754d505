package kernel

import "math"

// rowsGo computes stored rows k0 to k1, in blocks of columns whose sums stay in L1.
func (s *spmmArgs) rowsGo(k0, k1 int) {
	var sums [64]float32
	for k := k0; k < k1; k++ {
		r := k
		if s.a.List != nil {
			r = int(s.a.List[k])
		}
		scale := float32(1)
		if s.rowScale != nil {
			scale = s.rowScale[r]
		}
		row := s.y.V[r*s.y.LD : r*s.y.LD+s.y.Cols]
		for j := 0; j < len(row); j += len(sums) {
			t := sums[:min(len(sums), len(row)-j)]
			clear(t)
			if s.x.V == nil {
				s.sumRow16(t, k, j)
			} else {
				s.sumRow(t, k, j)
			}
			y := row[j : j+len(t)]
			for i, v := range t {
				if s.accumulate {
					y[i] += float32(scale * v)
				} else {
					y[i] = scale * v
				}
			}
		}
	}
}

// weight returns val[e]·cs[idx[e]].
func (s *spmmArgs) weight(e int64) float32 {
	w := float32(1)
	if s.a.Val != nil {
		w = s.a.Val[e]
	}
	if s.colScale != nil {
		w *= s.colScale[s.a.Idx[e]]
	}
	return w
}

// sumRow adds stored row k times columns j to j+len(t) of x to t.
func (s *spmmArgs) sumRow(t []float32, k, j int) {
	for e := s.a.Begin[k]; e < s.a.End[k]; e++ {
		w := s.weight(e)
		at := int(s.a.Idx[e])*s.x.LD + j
		x := s.x.V[at : at+len(t)]
		for i, v := range x {
			t[i] += w * v
		}
	}
}

// sumRow16 is sumRow for x in bf16.
func (s *spmmArgs) sumRow16(t []float32, k, j int) {
	for e := s.a.Begin[k]; e < s.a.End[k]; e++ {
		w := s.weight(e)
		at := int(s.a.Idx[e])*s.x16.LD + j
		x := s.x16.V[at : at+len(t)]
		for i, v := range x {
			t[i] += w * math.Float32frombits(uint32(v)<<16)
		}
	}
}
