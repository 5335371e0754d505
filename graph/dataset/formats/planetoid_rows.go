package formats

import (
	"errors"
	"fmt"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/pickle"
	"capgnn/internal/room"
)

// rowPointers decodes and checks the row pointers, and the sizes of the other arrays.
func rowPointers(m *pickle.CSR) ([]int64, error) {
	for _, a := range []*pickle.Array{m.Indptr, m.Indices, m.Data} {
		if len(a.Shape) != 1 {
			return nil, errors.New("an array of the matrix has not one dimension")
		}
	}
	if m.Indptr.Len() != m.Rows+1 || m.Data.Len() != m.Indices.Len() {
		return nil, fmt.Errorf("matrix of %d rows has %d row pointers, %d columns and %d values", m.Rows, m.Indptr.Len(), m.Indices.Len(), m.Data.Len())
	}
	indptr := make([]int64, 0, m.Rows+1)
	err := m.Indptr.EachInt(func(_ int, v int64) error { indptr = append(indptr, v); return nil })
	if err != nil {
		return nil, fmt.Errorf("indptr: %w", err)
	}
	return indptr, checkIndptr(indptr, m.Indices.Len())
}

// checkIndptr is the part of checkCSR about row pointers.
func checkIndptr(indptr []int64, entries int) error {
	if indptr[0] != 0 || indptr[len(indptr)-1] != int64(entries) {
		return fmt.Errorf("row pointers run from %d to %d, want 0 to %d", indptr[0], indptr[len(indptr)-1], entries)
	}
	for v := 1; v < len(indptr); v++ {
		if indptr[v] < indptr[v-1] {
			return fmt.Errorf("row pointer %d is %d, below the one before it (%d)", v, indptr[v], indptr[v-1])
		}
	}
	return nil
}

// takeRows checks all entries and puts row r of the matrix into f from place begin(r) on.
func takeRows(m *pickle.CSR, indptr []int64, f *dataset.Features, begin func(r int) int64) error {
	row := 0
	err := m.Indices.EachInt(func(k int, c int64) error {
		for int64(k) >= indptr[row+1] {
			row++
		}
		if c < 0 || c >= int64(m.Cols) {
			return fmt.Errorf("row %d: column %d is outside [0, %d)", row, c, m.Cols)
		}
		if begin != nil {
			f.Indices[begin(row)+int64(k)-indptr[row]] = int32(c)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indices: %w", err)
	}
	row = 0
	err = m.Data.EachFloat(func(k int, v float32) error {
		for int64(k) >= indptr[row+1] {
			row++
		}
		if !check.Finite(v) {
			return fmt.Errorf("value %d (row %d) is %g; features must be finite", k, row, v)
		}
		if begin != nil {
			f.Data[begin(row)+int64(k)-indptr[row]] = v
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

// features assembles the feature rows of all n vertices. The arrays of x are only checked: they are the first rows of allx.
func (p *planetoid) features(d *dataset.Dataset, n int) error {
	var pointers [3][]int64
	matrices := [3]*pickle.CSR{p.x, p.allx, p.tx}
	for i, what := range []string{"x", "allx", "tx"} {
		var err error
		if pointers[i], err = rowPointers(matrices[i]); err != nil {
			return p.fault(what, err)
		}
	}
	f := dataset.Features{Cols: p.allx.Cols, Indptr: make([]int64, n+1)}
	for r := range p.allx.Rows {
		f.Indptr[r+1] = pointers[1][r+1] - pointers[1][r]
	}
	for r, v := range p.test {
		f.Indptr[v+1] = pointers[2][r+1] - pointers[2][r]
	}
	for v := range n {
		f.Indptr[v+1] += f.Indptr[v]
	}
	if err := room.For(8 * f.Indptr[n]); err != nil {
		return p.fault("allx", err)
	}
	f.Indices, f.Data = make([]int32, f.Indptr[n]), make([]float32, f.Indptr[n])
	places := [3]func(r int) int64{nil, func(r int) int64 { return f.Indptr[r] }, func(r int) int64 { return f.Indptr[p.test[r]] }}
	for i, what := range []string{"x", "allx", "tx"} {
		if err := takeRows(matrices[i], pointers[i], &f, places[i]); err != nil {
			return p.fault(what, err)
		}
		if typ := matrices[i].Data.Type.Name; typ != "f4" {
			d.Note("%s: values of type %s were converted to float32", what, typ)
		}
	}
	d.Features = f
	return fields.SortFeatures(d, false, func(err error) error { return p.fault("allx", err) })
}

// labels assembles labels and splits of all n vertices.
func (p *planetoid) labels(d *dataset.Dataset, n int) error {
	d.Classes = p.ally.Shape[1]
	d.Labels = make([]int32, n)
	for v := range d.Labels {
		d.Labels[v] = -1
	}
	ally, err := oneHot(p.ally)
	if err != nil {
		return p.fault("ally", err)
	}
	copy(d.Labels, ally)
	ty, err := oneHot(p.ty)
	if err != nil {
		return p.fault("ty", err)
	}
	d.Train, d.Val, d.Test = make([]bool, n), make([]bool, n), make([]bool, n)
	for i, v := range p.test {
		d.Labels[v], d.Test[v] = ty[i], true
	}
	train := p.y.Shape[0]
	for v := range min(train+planetoidVal, p.allx.Rows) {
		d.Train[v], d.Val[v] = v < train, v >= train
	}
	if unlabelled := check.CountOf(d.Labels, -1); unlabelled > 0 {
		d.Note("vertices without a label, which are in no split: %d", unlabelled)
	}
	return nil
}

// oneHot returns the class of every row: -1 if it is all zero.
func oneHot(a *pickle.Array) ([]int32, error) {
	classes := a.Shape[1]
	out := make([]int32, a.Shape[0])
	for r := range out {
		out[r] = -1
	}
	err := a.EachInt(func(place int, v int64) error {
		switch r := place / classes; {
		case v == 0:
		case v == 1 && out[r] < 0:
			out[r] = int32(place % classes)
		default:
			return fmt.Errorf("row %d is not one-hot", r)
		}
		return nil
	})
	return out, err
}
