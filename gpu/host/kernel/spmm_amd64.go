//go:build !noasm

package kernel

import "sort"

// The assembly row kernels by width: spmmFunc for float32, in vectors; spmm16Func for bf16, in units (see gen/spmm16.go).
// The second index says whether entries are weighted.
type (
	spmmFunc = func(begin, end *int64, list *int32, k, rows int, idx *int32, val, cs *float32,
		x *float32, ldx uintptr, y *float32, ldy uintptr, scale *float32, last, ahead int, add bool)
	spmm16Func = func(begin, end *int64, list *int32, k, rows int, idx *int32, val, cs *float32,
		x *uint16, ldx uintptr, y *float32, ldy uintptr, scale *float32, last, ahead int, add bool)
)

var spmm512 = [17][2]spmmFunc{
	1: {spmm512v1, spmm512v1w}, 2: {spmm512v2, spmm512v2w}, 3: {spmm512v3, spmm512v3w}, 4: {spmm512v4, spmm512v4w},
	5: {spmm512v5, spmm512v5w}, 6: {spmm512v6, spmm512v6w}, 7: {spmm512v7, spmm512v7w}, 8: {spmm512v8, spmm512v8w},
	12: {spmm512v12, spmm512v12w}, 16: {spmm512v16, spmm512v16w},
}

var spmm256 = [13][2]spmmFunc{
	1: {spmm256v1, spmm256v1w}, 2: {spmm256v2, spmm256v2w}, 3: {spmm256v3, spmm256v3w}, 4: {spmm256v4, spmm256v4w},
	5: {spmm256v5, spmm256v5w}, 6: {spmm256v6, spmm256v6w}, 7: {spmm256v7, spmm256v7w}, 8: {spmm256v8, spmm256v8w},
	10: {spmm256v10, spmm256v10w}, 12: {spmm256v12, spmm256v12w},
}

var bfspmm512 = [9][2]spmm16Func{
	1: {bfspmm512u1, bfspmm512u1w}, 2: {bfspmm512u2, bfspmm512u2w}, 3: {bfspmm512u3, bfspmm512u3w},
	4: {bfspmm512u4, bfspmm512u4w}, 6: {bfspmm512u6, bfspmm512u6w}, 8: {bfspmm512u8, bfspmm512u8w},
}

var bfspmm256 = [9][2]spmm16Func{
	1: {bfspmm256u1, bfspmm256u1w}, 2: {bfspmm256u2, bfspmm256u2w}, 3: {bfspmm256u3, bfspmm256u3w},
	4: {bfspmm256u4, bfspmm256u4w}, 6: {bfspmm256u6, bfspmm256u6w}, 8: {bfspmm256u8, bfspmm256u8w},
}

// widest returns the largest width up to n that table has a kernel for.
func widest[F any](table [][2]F, n int, has func(F) bool) int {
	n = min(n, len(table)-1)
	for !has(table[n][0]) {
		n--
	}
	return n
}

// rows computes stored rows k0 to k1 of y.
func (s *spmmArgs) rows(k0, k1 int) {
	if Active == generic || len(s.a.Idx) == 0 || len(s.x.V)+len(s.x16.V) == 0 {
		s.rowsGo(k0, k1)
		return
	}
	// The kernels read indices up to ahead entries behind the last one of their rows: the last rows go without prefetch.
	ahead := s.ahead()
	limit := int64(len(s.a.Idx) - ahead)
	safe := k0 + sort.Search(k1-k0, func(i int) bool { return s.a.End[k0+i] > limit })
	s.passes(k0, safe, ahead)
	s.passes(safe, k1, 0)
}

// ahead is the distance of the software prefetch in entries: 12 KiB of rows and at most 48 rows, measured best at 8 to 16 for
// rows of 1 KiB, 24 to 32 for 512 bytes, 32 to 48 for 164.
func (s *spmmArgs) ahead() int {
	return min(12<<10/(s.size()*min(s.y.Cols, 256)), 48)
}

// passes computes stored rows k0 to k1, as many columns at a time as a kernel has registers for.
func (s *spmmArgs) passes(k0, k1, ahead int) {
	if k0 == k1 {
		return
	}
	weighted := 0
	if s.a.Val != nil || s.colScale != nil {
		weighted = 1
	}
	wide := Active == avx512
	if s.x.V != nil {
		lanes, table := 8, spmm256[:]
		if wide {
			lanes, table = 16, spmm512[:]
		}
		for col := 0; col < s.y.Cols; {
			n := widest(table, (s.y.Cols-col+lanes-1)/lanes, func(f spmmFunc) bool { return f != nil })
			width := min(n*lanes, s.y.Cols-col)
			table[n][weighted](&s.a.Begin[0], &s.a.End[0], first(s.a.List), k0, k1-k0, &s.a.Idx[0], first(s.a.Val),
				first(s.colScale), &s.x.V[col], uintptr(s.x.LD)*4, &s.y.V[col], uintptr(s.y.LD)*4, first(s.rowScale),
				width-(n-1)*lanes, ahead, s.accumulate)
			col += width
		}
		return
	}
	s.passes16(k0, k1, ahead, weighted, wide)
}

// passes16 is passes for x in bf16.
func (s *spmmArgs) passes16(k0, k1, ahead, weighted int, wide bool) {
	unit, table := 8, bfspmm256[:]
	if wide {
		unit, table = 32, bfspmm512[:]
	} else if s.y.Cols < unit {
		s.rowsGo(k0, k1) // the AVX2 kernels need a unit of columns
		return
	}
	for col := 0; col < s.y.Cols; {
		n := widest(table, (s.y.Cols-col+unit-1)/unit, func(f spmm16Func) bool { return f != nil })
		width := min(n*unit, s.y.Cols-col)
		table[n][weighted](&s.a.Begin[0], &s.a.End[0], first(s.a.List), k0, k1-k0, &s.a.Idx[0], first(s.a.Val),
			first(s.colScale), &s.x16.V[col], uintptr(s.x16.LD)*2, &s.y.V[col], uintptr(s.y.LD)*4, first(s.rowScale),
			width-(n-1)*unit, ahead, s.accumulate)
		col += width
	}
}

// first returns the address of a slice's first element, nil if there is none.
func first[E any](s []E) *E {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}
