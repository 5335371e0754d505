package dataset

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph/dataset/internal/check"
	"capgnn/internal/room"
)

// validate checks the features of n vertices. finite: their values were looked through. huge is set to a value whose
// square is beyond float32.
func (f *Features) validate(n int, finite bool, rest func(), huge *float32) error {
	if f.Cols < 0 || f.Cols > check.MaxCols {
		return fmt.Errorf("%d columns; at most %d are handled", f.Cols, check.MaxCols)
	}
	if !f.Sparse() {
		if f.Dense != nil && (f.Cols == 0 || len(f.Dense)%f.Cols != 0 || len(f.Dense)/f.Cols != n) {
			return fmt.Errorf("%d values for %d vertices × %d columns", len(f.Dense), n, f.Cols)
		}
		if finite {
			return nil
		}
		i, x := check.FirstMapped(f.Dense, rest)
		if *huge = x; i >= 0 {
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
	if _, i, err := check.CSR(f.Indptr, f.Indices, f.Cols, "column"); err != nil {
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
	if finite {
		return nil
	}
	i, x := check.FirstMapped(f.Data, rest)
	if *huge = x; i >= 0 {
		return fmt.Errorf("value %d (column %d) is %g", i, f.Indices[i], f.Data[i])
	}
	return nil
}

// SortRows sorts the columns of every row and adds the values of repeated ones, where they lie. Arrays that are in order
// are not written to; others are copied first if they are mapped. It returns the number of values that were merged away.
func (f *Features) SortRows(mapped bool) (merged int, err error) {
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
