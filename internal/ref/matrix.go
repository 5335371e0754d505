package ref

// Matrix is row-major without padding: element (i, j) is V[i·Cols+j].
type Matrix struct {
	Rows, Cols int
	V          []float64
}

// NewMatrix returns a matrix of zeros.
func NewMatrix(rows, cols int) Matrix {
	return Matrix{rows, cols, make([]float64, rows*cols)}
}

// Row returns row i; changes to it change m.
func (m Matrix) Row(i int) []float64 { return m.V[i*m.Cols : (i+1)*m.Cols] }

// At returns element (i, j).
func (m Matrix) At(i, j int) float64 { return m.V[i*m.Cols+j] }

// Clone returns a copy of m.
func (m Matrix) Clone() Matrix {
	return Matrix{m.Rows, m.Cols, append([]float64(nil), m.V...)}
}

// Map returns the matrix of f(i, j).
func Map(rows, cols int, f func(i, j int) float64) Matrix {
	m := NewMatrix(rows, cols)
	for i := range rows {
		for j := range cols {
			m.V[i*cols+j] = f(i, j)
		}
	}
	return m
}

// CSR is gpu.CSR in host memory: stored row k holds entries Begin[k] ≤ e < End[k] and is matrix row List[k], or k where
// List is nil. Val nil: all ones.
type CSR struct {
	Rows, Cols int
	Begin, End []int64
	Indices    []int32
	Val        []float64
	List       []int32
}

// Edge is an entry of a CSR.
type Edge struct {
	Col int
	Val float64
}

// Row returns the entries of matrix row r, in order; none if the row is not stored.
func (a CSR) Row(r int) []Edge {
	var edges []Edge
	for k := range a.Begin {
		if a.List == nil && k != r || a.List != nil && int(a.List[k]) != r {
			continue
		}
		for e := a.Begin[k]; e < a.End[k]; e++ {
			v := 1.0
			if a.Val != nil {
				v = a.Val[e]
			}
			edges = append(edges, Edge{int(a.Indices[e]), v})
		}
	}
	return edges
}

// Entries returns the number of entries of all rows.
func (a CSR) Entries() int64 {
	n := int64(0)
	for k := range a.Begin {
		n += a.End[k] - a.Begin[k]
	}
	return n
}
