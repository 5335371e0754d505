package kernel

// Dense is a row-major float32 matrix in host memory: element (i, j) is V[i*LD+j]. len(V) ≥ (Rows-1)*LD + Cols.
type Dense struct {
	V              []float32
	Rows, Cols, LD int
}

// Dense16 is a row-major bf16 matrix in host memory.
type Dense16 struct {
	V              []uint16
	Rows, Cols, LD int
}

// Either is a matrix of one type or the other.
type Either struct {
	D32  Dense
	D16  Dense16
	Half bool
}

// Row returns row i of m, without the padding after its last column.
func (m Dense) Row(i int) []float32 {
	return m.V[i*m.LD : i*m.LD+m.Cols : i*m.LD+m.Cols]
}

// Row returns row i of m.
func (m Dense16) Row(i int) []uint16 {
	return m.V[i*m.LD : i*m.LD+m.Cols : i*m.LD+m.Cols]
}

// Empty reports whether m has no element.
func (m Dense) Empty() bool { return m.Rows == 0 || m.Cols == 0 }

// Size returns the shape of m.
func (m Either) Size() (rows, cols int) {
	if m.Half {
		return m.D16.Rows, m.D16.Cols
	}
	return m.D32.Rows, m.D32.Cols
}

// Spare returns how many floats a widened row, or a row before it is narrowed, takes beside m: 0 where m is float32.
func (m Either) Spare() int {
	if m.Half {
		return m.D16.Cols
	}
	return 0
}

// Widened returns rows lo to hi of m as float32: where they are, or in room, which holds Spare floats per row.
func (m Either) Widened(lo, hi int, room []float32) Dense {
	if !m.Half {
		return m.D32.RowRange(lo, hi)
	}
	d := Dense{room[:(hi-lo)*m.D16.Cols], hi - lo, m.D16.Cols, m.D16.Cols}
	if d.Cols == 0 {
		return d
	}
	for i := range d.Rows {
		fromBF16(d.Row(i), m.D16.Row(lo+i))
	}
	return d
}

// block is Widened for a reader that takes whole vectors: what is behind the last column may be read where there is a next row.
func (m Either) block(lo, hi int, room []float32) Dense {
	if m.Half {
		return m.Widened(lo, hi, room)
	}
	d := m.D32
	return Dense{d.V[lo*d.LD:], hi - lo, d.Cols, d.LD}
}

// columns returns columns j to j+n of m.
func (m Either) columns(j, n int) Either {
	if m.Half {
		d := &m.D16
		d.V, d.Cols = d.V[j:], n
	} else {
		m.D32 = m.D32.columns(j, n)
	}
	return m
}

// WideRow is Widened of one row.
func (m Either) WideRow(i int, room []float32) []float32 {
	if !m.Half {
		return m.D32.Row(i)
	}
	fromBF16(room, m.D16.Row(i))
	return room[:m.D16.Cols]
}

// Draft returns where float32 results of rows lo to hi are to be put before Store: into m itself, or into room.
func (m Either) Draft(lo, hi int, room []float32) Dense {
	if !m.Half {
		return m.D32.RowRange(lo, hi)
	}
	return Dense{room[:(hi-lo)*m.D16.Cols], hi - lo, m.D16.Cols, m.D16.Cols}
}

// DraftRow is Draft of one row.
func (m Either) DraftRow(i int, room []float32) []float32 {
	if !m.Half {
		return m.D32.Row(i)
	}
	return room[:m.D16.Cols]
}

// Store writes float32 rows to the rows of m from lo on, rounded to bf16 if m is.
func (m Either) Store(lo int, draft Dense) {
	if !m.Half || draft.Cols == 0 {
		return
	}
	for i := range draft.Rows {
		toBF16(m.D16.Row(lo+i), draft.Row(i))
	}
}

// StoreRow is Store of one row.
func (m Either) StoreRow(i int, draft []float32) {
	if m.Half {
		toBF16(m.D16.Row(i), draft)
	}
}

// Sparse is gpu.CSR in host memory; see its comment for begin, end and list.
type Sparse struct {
	Begin, End []int64
	Idx        []int32
	Val        []float32 // nil: all ones
	List       []int32   // nil: identity
	Rows, Cols int
	Entries    int64
}
