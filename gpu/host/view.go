package host

// dense is a row-major float32 matrix in host memory: element (i, j) is v[i*ld+j]. len(v) ≥ (rows-1)*ld + cols.
type dense struct {
	V              []float32
	Rows, Cols, LD int
}

// dense16 is a row-major bf16 matrix in host memory.
type dense16 struct {
	V              []uint16
	Rows, Cols, LD int
}

// either is a matrix of one type or the other.
type either struct {
	D32  dense
	D16  dense16
	Half bool
}

// row returns row i of m, without the padding after its last column.
func (m dense) Row(i int) []float32 {
	return m.V[i*m.LD : i*m.LD+m.Cols : i*m.LD+m.Cols]
}

// row returns row i of m.
func (m dense16) Row(i int) []uint16 {
	return m.V[i*m.LD : i*m.LD+m.Cols : i*m.LD+m.Cols]
}

// empty reports whether m has no element.
func (m dense) Empty() bool { return m.Rows == 0 || m.Cols == 0 }

// size returns the shape of m.
func (m either) Size() (rows, cols int) {
	if m.Half {
		return m.D16.Rows, m.D16.Cols
	}
	return m.D32.Rows, m.D32.Cols
}

// spare returns how many floats a widened row, or a row before it is narrowed, takes beside m: 0 where m is float32.
func (m either) Spare() int {
	if m.Half {
		return m.D16.Cols
	}
	return 0
}

// widened returns rows lo to hi of m as float32: where they are, or in room, which holds spare floats per row.
func (m either) Widened(lo, hi int, room []float32) dense {
	if !m.Half {
		return m.D32.RowRange(lo, hi)
	}
	d := dense{room[:(hi-lo)*m.D16.Cols], hi - lo, m.D16.Cols, m.D16.Cols}
	if d.Cols == 0 {
		return d
	}
	for i := range d.Rows {
		fromBF16(d.Row(i), m.D16.Row(lo+i))
	}
	return d
}

// wideRow is widened of one row.
func (m either) WideRow(i int, room []float32) []float32 {
	if !m.Half {
		return m.D32.Row(i)
	}
	fromBF16(room, m.D16.Row(i))
	return room[:m.D16.Cols]
}

// draft returns where float32 results of rows lo to hi are to be put before store: into m itself, or into room.
func (m either) Draft(lo, hi int, room []float32) dense {
	if !m.Half {
		return m.D32.RowRange(lo, hi)
	}
	return dense{room[:(hi-lo)*m.D16.Cols], hi - lo, m.D16.Cols, m.D16.Cols}
}

// draftRow is draft of one row.
func (m either) DraftRow(i int, room []float32) []float32 {
	if !m.Half {
		return m.D32.Row(i)
	}
	return room[:m.D16.Cols]
}

// store makes a draft of rows from lo on final: rounded to bf16 if m is.
func (m either) Store(lo int, draft dense) {
	if !m.Half || draft.Cols == 0 {
		return
	}
	for i := range draft.Rows {
		toBF16(m.D16.Row(lo+i), draft.Row(i))
	}
}

// storeRow is store of one row.
func (m either) StoreRow(i int, draft []float32) {
	if m.Half {
		toBF16(m.D16.Row(i), draft)
	}
}

// sparse is gpu.CSR in host memory; see its comment for begin, end and list.
type sparse struct {
	Begin, End []int64
	Idx        []int32
	Val        []float32 // nil: all ones
	List       []int32   // nil: identity
	Rows, Cols int
	Entries    int64
}
