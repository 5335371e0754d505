package dataset

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// Limits of what a file may state.
const (
	// maxDim bounds the columns of any matrix: indices are 32 bits wide.
	maxDim = math.MaxInt32 - 1
	// maxCols bounds the number of feature columns: a weight matrix has a row for each.
	maxCols = 1 << 24
	// checkedBlock is how many elements a goroutine checks at a time: some 50 µs of work.
	checkedBlock = 1 << 16
)

// maxClasses bounds the classes of n vertices, so that one wild label does not make a huge output layer.
func maxClasses(n int) int64 { return int64(max(n, 1<<16)) }

// finite reports whether a value is neither NaN nor infinite.
func finite(v float32) bool {
	const exponent = 0x7f800000
	return math.Float32bits(v)&exponent != exponent
}

// firstNotFinite returns the index of the first NaN or infinity, -1 if there is none.
func firstNotFinite(s []float32) int {
	return graph.FirstIndex(len(s), checkedBlock, func(lo, hi int) int {
		for i, v := range s[lo:hi] {
			if !finite(v) {
				return lo + i
			}
		}
		return -1
	})
}

// part says which array of a CSR a fault lies in.
type part int

const (
	inIndptr part = iota
	inIndices
)

// checkCSR checks row pointers and column indices that come from a file; rows need not be sorted. It returns where the
// first fault lies: which array, which element.
func checkCSR(indptr []int64, indices []int32, cols int, what string) (part, int, error) {
	if len(indptr) == 0 {
		return inIndptr, -1, fmt.Errorf("there are no row pointers")
	}
	if indptr[0] != 0 {
		return inIndptr, 0, fmt.Errorf("the first row pointer is %d, want 0", indptr[0])
	}
	for v := 1; v < len(indptr); v++ {
		if indptr[v] < indptr[v-1] || indptr[v] > int64(len(indices)) {
			return inIndptr, v, fmt.Errorf("row pointer %d is %d, outside [%d, %d]", v, indptr[v], indptr[v-1], len(indices))
		}
	}
	if last := indptr[len(indptr)-1]; last != int64(len(indices)) {
		return inIndptr, len(indptr) - 1, fmt.Errorf("the last row pointer is %d, but there are %d entries", last, len(indices))
	}
	i := graph.FirstIndex(len(indices), checkedBlock, func(lo, hi int) int {
		for i, c := range indices[lo:hi] {
			if c < 0 || int(c) >= cols {
				return lo + i
			}
		}
		return -1
	})
	if i >= 0 {
		row, _ := slices.BinarySearch(indptr, int64(i)+1)
		return inIndices, i, fmt.Errorf("row %d: %s %d is outside [0, %d)", row-1, what, indices[i], cols)
	}
	return inIndices, -1, nil
}

// countTrue counts the vertices of a mask.
func countTrue(mask []bool) (n int) {
	for _, b := range mask {
		if b {
			n++
		}
	}
	return n
}

// countOf counts the elements that are v.
func countOf(s []int32, v int32) (n int) {
	for _, x := range s {
		if x == v {
			n++
		}
	}
	return n
}
