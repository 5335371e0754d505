package check

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// Limits of what a file may state.
const (
	// MaxDim bounds the columns of any matrix: indices are 32 bits wide.
	MaxDim = math.MaxInt32 - 1
	// MaxCols bounds the number of feature columns: a weight matrix has a row for each.
	MaxCols = 1 << 24
	// Block is how many elements a goroutine checks at a time: some 50 µs of work.
	Block = 1 << 16
)

// MaxClasses bounds the classes of n vertices, so that one wild label does not make a huge output layer.
func MaxClasses(n int) int64 { return int64(max(n, 1<<16)) }

const (
	exponent     = 0x7f800000 // of NaN and infinity
	hugeExponent = 0x5f800000 // of 2^64, whose square is beyond float32
)

// Finite reports whether a value is neither NaN nor infinite.
func Finite(v float32) bool {
	return math.Float32bits(v)&exponent != exponent
}

// FirstMapped is FirstNotFinite of values that may be mapped: rest takes what was read out of the process's memory, piece by piece, so that a check takes no more of it than a piece.
// huge is the first value whose square is beyond float32, 0 if there is none.
func FirstMapped(s []float32, rest func()) (i int, huge float32) {
	piece := max(minPiece, len(s)/64)
	for lo := 0; lo < len(s); lo += piece {
		part := s[lo:min(len(s), lo+piece)]
		if first := firstFrom(part, hugeExponent); first >= 0 {
			if i := FirstNotFinite(part[first:]); i >= 0 {
				return lo + first + i, huge
			}
			if huge == 0 {
				huge = part[first]
			}
		}
		rest()
	}
	return -1, huge
}

// minPiece is 8 MiB of values.
const minPiece = 2 << 20

// FirstNotFinite returns the index of the first NaN or infinity, -1 if there is none.
func FirstNotFinite(s []float32) int {
	return firstFrom(s, exponent)
}

// firstFrom returns the index of the first value whose exponent is at least least, -1 if there is none.
func firstFrom(s []float32, least uint32) int {
	return graph.FirstIndex(len(s), Block, func(lo, hi int) int {
		for i, v := range s[lo:hi] {
			if math.Float32bits(v)&exponent >= least {
				return lo + i
			}
		}
		return -1
	})
}

// Part says which array of a CSR a fault lies in.
type Part int

const (
	InIndptr Part = iota
	InIndices
)

// CSR checks row pointers and column indices that come from a file; rows need not be sorted. It returns where the
// first fault lies: which array, which element.
func CSR(indptr []int64, indices []int32, cols int, what string) (Part, int, error) {
	if len(indptr) == 0 {
		return InIndptr, -1, fmt.Errorf("there are no row pointers")
	}
	if indptr[0] != 0 {
		return InIndptr, 0, fmt.Errorf("the first row pointer is %d, want 0", indptr[0])
	}
	for v := 1; v < len(indptr); v++ {
		if indptr[v] < indptr[v-1] || indptr[v] > int64(len(indices)) {
			return InIndptr, v, fmt.Errorf("row pointer %d is %d, outside [%d, %d]", v, indptr[v], indptr[v-1], len(indices))
		}
	}
	if last := indptr[len(indptr)-1]; last != int64(len(indices)) {
		return InIndptr, len(indptr) - 1, fmt.Errorf("the last row pointer is %d, but there are %d entries", last, len(indices))
	}
	i := graph.FirstIndex(len(indices), Block, func(lo, hi int) int {
		for i, c := range indices[lo:hi] {
			if c < 0 || int(c) >= cols {
				return lo + i
			}
		}
		return -1
	})
	if i >= 0 {
		row, _ := slices.BinarySearch(indptr, int64(i)+1)
		return InIndices, i, fmt.Errorf("row %d: %s %d is outside [0, %d)", row-1, what, indices[i], cols)
	}
	return InIndices, -1, nil
}

// CountTrue counts the vertices of a mask.
func CountTrue(mask []bool) (n int) {
	for _, b := range mask {
		if b {
			n++
		}
	}
	return n
}

// CountOf counts the elements that are v.
func CountOf(s []int32, v int32) (n int) {
	for _, x := range s {
		if x == v {
			n++
		}
	}
	return n
}
