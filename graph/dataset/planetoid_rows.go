package dataset

import (
	"fmt"
	"math"
)

// sparseRows is a csr with its arrays as numbers.
type sparseRows struct {
	indptr  []int64
	indices []int32
	data    []float32
}

// numbers decodes and checks a matrix; exact says whether its values were float32.
func (m *csr) numbers() (r sparseRows, exact bool, err error) {
	if r.indptr, err = m.indptr.ints(); err != nil {
		return r, false, fmt.Errorf("indptr: %w", err)
	}
	wide, err := m.indices.ints()
	if err != nil {
		return r, false, fmt.Errorf("indices: %w", err)
	}
	r.indices = make([]int32, len(wide))
	for i, c := range wide {
		r.indices[i] = int32(max(-1, min(c, math.MaxInt32)))
	}
	if r.data, exact, err = m.data.floats(); err != nil {
		return r, false, fmt.Errorf("data: %w", err)
	}
	if len(r.indptr) != m.rows+1 || len(r.data) != len(r.indices) {
		return r, false, fmt.Errorf("matrix of %d rows has %d row pointers, %d columns and %d values", m.rows, len(r.indptr), len(r.indices), len(r.data))
	}
	if _, _, err := checkCSR(r.indptr, r.indices, m.cols, "column"); err != nil {
		return r, false, err
	}
	if i := firstNotFinite(r.data); i >= 0 {
		return r, false, fmt.Errorf("value %d (column %d) is %g; features must be finite", i, r.indices[i], r.data[i])
	}
	return r, exact, nil
}

// features assembles the feature rows of all n vertices.
func (p *planetoid) features(d *Dataset, n int) error {
	parts := map[string]sparseRows{}
	for _, f := range []struct {
		what string
		m    *csr
	}{{"x", p.x}, {"allx", p.allx}, {"tx", p.tx}} {
		rows, exact, err := f.m.numbers()
		if err != nil {
			return p.fault(f.what, err)
		}
		if !exact {
			d.note("%s: values of type %s were converted to float32", f.what, f.m.data.typ.name)
		}
		parts[f.what] = rows
	}
	allx, tx := parts["allx"], parts["tx"]
	testRow := make([]int, n) // 1 + row of tx
	for i, v := range p.test {
		testRow[v] = i + 1
	}
	f := Features{Cols: p.allx.cols, Indptr: make([]int64, n+1)}
	for v := range n {
		from, row := allx, v
		switch {
		case v < p.allx.rows:
		case testRow[v] > 0:
			from, row = tx, testRow[v]-1
		default:
			f.Indptr[v+1] = f.Indptr[v]
			continue
		}
		lo, hi := from.indptr[row], from.indptr[row+1]
		f.Indices = append(f.Indices, from.indices[lo:hi]...)
		f.Data = append(f.Data, from.data[lo:hi]...)
		f.Indptr[v+1] = int64(len(f.Indices))
	}
	if merged := f.sortRows(); merged > 0 {
		d.note("features: %d repeated entries were added up", merged)
	}
	d.Features = f
	return nil
}

// labels assembles labels and splits of all n vertices.
func (p *planetoid) labels(d *Dataset, n int) error {
	d.Classes = p.ally.shape[1]
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
	train := p.y.shape[0]
	for v := range min(train+planetoidVal, p.allx.rows) {
		d.Train[v], d.Val[v] = v < train, v >= train
	}
	if unlabelled := countOf(d.Labels, -1); unlabelled > 0 {
		d.note("%d vertices have no label and are in no split", unlabelled)
	}
	return nil
}

func countOf(s []int32, v int32) (n int) {
	for _, x := range s {
		if x == v {
			n++
		}
	}
	return n
}

// oneHot returns the class of every row: -1 if it is all zero.
func oneHot(a *ndarray) ([]int32, error) {
	values, err := a.ints()
	if err != nil {
		return nil, err
	}
	classes := a.shape[1]
	out := make([]int32, a.shape[0])
	for r := range out {
		out[r] = -1
		for c, v := range values[r*classes : (r+1)*classes] {
			switch {
			case v == 0:
			case v == 1 && out[r] < 0:
				out[r] = int32(c)
			default:
				return nil, fmt.Errorf("row %d is not one-hot", r)
			}
		}
	}
	return out, nil
}
