package host

// dense is a row-major float32 matrix in host memory: element (i, j) is v[i*ld+j]. len(v) ≥ (rows-1)*ld + cols.
type dense struct {
	v              []float32
	rows, cols, ld int
}

// dense16 is a row-major bf16 matrix in host memory.
type dense16 struct {
	v              []uint16
	rows, cols, ld int
}

// either is a matrix of one type or the other.
type either struct {
	d32  dense
	d16  dense16
	half bool
}

// row returns row i of m, without the padding after its last column.
func (m dense) row(i int) []float32 {
	return m.v[i*m.ld : i*m.ld+m.cols : i*m.ld+m.cols]
}

// row returns row i of m.
func (m dense16) row(i int) []uint16 {
	return m.v[i*m.ld : i*m.ld+m.cols : i*m.ld+m.cols]
}

// empty reports whether m has no element.
func (m dense) empty() bool { return m.rows == 0 || m.cols == 0 }

// size returns the shape of m.
func (m either) size() (rows, cols int) {
	if m.half {
		return m.d16.rows, m.d16.cols
	}
	return m.d32.rows, m.d32.cols
}

// spare returns how many floats a widened row, or a row before it is narrowed, takes beside m: 0 where m is float32.
func (m either) spare() int {
	if m.half {
		return m.d16.cols
	}
	return 0
}

// widened returns rows lo to hi of m as float32: where they are, or in room, which holds spare floats per row.
func (m either) widened(lo, hi int, room []float32) dense {
	if !m.half {
		return m.d32.rowRange(lo, hi)
	}
	d := dense{room[:(hi-lo)*m.d16.cols], hi - lo, m.d16.cols, m.d16.cols}
	if d.cols == 0 {
		return d
	}
	for i := range d.rows {
		fromBF16(d.row(i), m.d16.row(lo+i))
	}
	return d
}

// wideRow is widened of one row.
func (m either) wideRow(i int, room []float32) []float32 {
	if !m.half {
		return m.d32.row(i)
	}
	fromBF16(room, m.d16.row(i))
	return room[:m.d16.cols]
}

// draft returns where float32 results of rows lo to hi are to be put before store: into m itself, or into room.
func (m either) draft(lo, hi int, room []float32) dense {
	if !m.half {
		return m.d32.rowRange(lo, hi)
	}
	return dense{room[:(hi-lo)*m.d16.cols], hi - lo, m.d16.cols, m.d16.cols}
}

// draftRow is draft of one row.
func (m either) draftRow(i int, room []float32) []float32 {
	if !m.half {
		return m.d32.row(i)
	}
	return room[:m.d16.cols]
}

// store makes a draft of rows from lo on final: rounded to bf16 if m is.
func (m either) store(lo int, draft dense) {
	if !m.half || draft.cols == 0 {
		return
	}
	for i := range draft.rows {
		toBF16(m.d16.row(lo+i), draft.row(i))
	}
}

// storeRow is store of one row.
func (m either) storeRow(i int, draft []float32) {
	if m.half {
		toBF16(m.d16.row(i), draft)
	}
}

// sparse is gpu.CSR in host memory; see its comment for begin, end and list.
type sparse struct {
	begin, end []int64
	idx        []int32
	val        []float32 // nil: all ones
	list       []int32   // nil: identity
	rows, cols int
	entries    int64
}
