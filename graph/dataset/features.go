package dataset

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
	"capgnn/internal/room"
)

// checkedBlock is how many elements a goroutine checks at a time: some 50 µs of work.
const checkedBlock = 1 << 16

// maxCols bounds the number of feature columns a file may state: a weight matrix has a row for each.
const maxCols = 1 << 24

// validate checks the features of n vertices.
func (f *Features) validate(n int) error {
	if f.Cols < 0 || f.Cols > maxCols {
		return fmt.Errorf("%d columns; at most %d are handled", f.Cols, maxCols)
	}
	if !f.Sparse() {
		if f.Dense != nil && (f.Cols == 0 || len(f.Dense)%f.Cols != 0 || len(f.Dense)/f.Cols != n) {
			return fmt.Errorf("%d values for %d vertices × %d columns", len(f.Dense), n, f.Cols)
		}
		if i := firstNotFinite(f.Dense); i >= 0 {
			return fmt.Errorf("row %d, column %d is %g", i/f.Cols, i%f.Cols, f.Dense[i])
		}
		return nil
	}
	if f.Dense != nil {
		return fmt.Errorf("both dense and sparse")
	}
	if len(f.Indptr) != n+1 {
		return fmt.Errorf("%d row pointers for %d vertices", len(f.Indptr), n)
	}
	if len(f.Indices) != len(f.Data) {
		return fmt.Errorf("%d columns for %d values", len(f.Indices), len(f.Data))
	}
	if _, i, err := checkCSR(f.Indptr, f.Indices, f.Cols, "column"); err != nil {
		return fmt.Errorf("element %d: %w", i, err)
	}
	for v := range n {
		row := f.Indices[f.Indptr[v]:f.Indptr[v+1]]
		for k := 1; k < len(row); k++ {
			if row[k] <= row[k-1] {
				return fmt.Errorf("row %d: columns are not ascending", v)
			}
		}
	}
	if i := firstNotFinite(f.Data); i >= 0 {
		return fmt.Errorf("value %d (column %d) is %g", i, f.Indices[i], f.Data[i])
	}
	return nil
}

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

// sortRows sorts the columns of every row and adds the values of repeated ones, where they lie. Arrays that are in order
// are not written to; others are copied first if they are mapped. It returns the number of values that were merged away.
func (f *Features) sortRows(mapped bool) (merged int, err error) {
	if f.ascending() {
		return 0, nil
	}
	if mapped {
		if err := room.For(8 * int64(len(f.Indices)+len(f.Indptr))); err != nil {
			return 0, err
		}
		f.Indptr, f.Indices, f.Data = slices.Clone(f.Indptr), slices.Clone(f.Indices), slices.Clone(f.Data)
	}
	var row []uint64
	w, lo := int64(0), int64(0)
	for v := range len(f.Indptr) - 1 {
		row = row[:0]
		for i := lo; i < f.Indptr[v+1]; i++ {
			row = append(row, uint64(f.Indices[i])<<32|uint64(math.Float32bits(f.Data[i])))
		}
		slices.Sort(row)
		begin := w
		lo = f.Indptr[v+1]
		for _, e := range row {
			col, value := int32(e>>32), math.Float32frombits(uint32(e))
			if w > begin && f.Indices[w-1] == col {
				f.Data[w-1] += value
				continue
			}
			f.Indices[w], f.Data[w] = col, value
			w++
		}
		f.Indptr[v+1] = w
	}
	merged = len(f.Indices) - int(w)
	f.Indices, f.Data = f.Indices[:w], f.Data[:w]
	return merged, nil
}

func (f *Features) ascending() bool {
	for v := range len(f.Indptr) - 1 {
		row := f.Indices[f.Indptr[v]:f.Indptr[v+1]]
		for k := 1; k < len(row); k++ {
			if row[k] <= row[k-1] {
				return false
			}
		}
	}
	return true
}
