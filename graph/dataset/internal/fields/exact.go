package fields

import (
	"fmt"
	"math"

	"capgnn/internal/npy"
	"capgnn/internal/room"
)

// Ranges follows the values of columns on their way to float32, of the first MaxRanges.
type Ranges []valueRange

// MaxRanges bounds the columns that are followed: a range takes more than a value.
const MaxRanges = 1 << 16

type valueRange struct {
	least, most    float64
	begun          bool
	rounded, parts bool // there are values that float32 rounds, and such that are not whole
}

// Add takes a value of a column, before it is rounded.
func (r Ranges) Add(col int, v float64) {
	if col >= len(r) {
		return
	}
	c := &r[col]
	if !c.begun {
		c.least, c.most, c.begun = v, v, true
	}
	c.least, c.most = min(c.least, v), max(c.most, v)
	c.rounded = c.rounded || float64(float32(v)) != v
	c.parts = c.parts || v != math.Trunc(v)
}

// far is how many times larger than their spread values may be before what float32 rounds off, a part in 2^24 of them, is felt in their differences.
const far = 16

// Rounded returns the columns whose differences float32 changes: whole numbers beyond 2^24, and values much larger than their spread.
func (r Ranges) Rounded() (cols []int) {
	for i, c := range r {
		largest := max(math.Abs(c.least), math.Abs(c.most))
		if c.rounded && (!c.parts && largest > 1<<24 || largest > far*(c.most-c.least)) {
			cols = append(cols, i)
		}
	}
	return cols
}

// exactColumns returns the columns of a matrix whose differences float32 changes, as they are stored.
func exactColumns(a *npy.Array) (map[int][]float64, error) {
	if a.DType.Size < 4 || a.DType == (npy.DType{Kind: 'f', Size: 4}) {
		return nil, nil
	}
	rows, cols := a.Shape[0], a.Shape[1]
	flat := *a // in the order of the file
	flat.Shape, flat.Fortran = []int{a.Len()}, false
	at := func(i int) (row, col int) {
		if a.Fortran {
			return i % rows, i / rows
		}
		return i / cols, i % cols
	}
	ranges := make(Ranges, min(cols, MaxRanges))
	err := flat.EachFloat64(func(i int, values []float64) error {
		for k, v := range values {
			_, col := at(i + k)
			ranges.Add(col, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	exact, err := ranges.Columns(rows)
	if err != nil || exact == nil {
		return nil, err
	}
	return exact, flat.EachFloat64(func(i int, values []float64) error {
		for k, v := range values {
			if row, col := at(i + k); exact[col] != nil {
				exact[col][row] = v
			}
		}
		return nil
	})
}

// Columns makes room for the columns of Rounded; nil: there are none.
func (r Ranges) Columns(rows int) (map[int][]float64, error) {
	cols := r.Rounded()
	if len(cols) == 0 {
		return nil, nil
	}
	if err := room.For(8 * int64(rows) * int64(len(cols))); err != nil {
		return nil, fmt.Errorf("%d columns in float64: %w", len(cols), err)
	}
	exact := make(map[int][]float64, len(cols))
	for _, c := range cols {
		exact[c] = make([]float64, rows)
	}
	return exact, nil
}
