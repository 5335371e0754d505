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

// sparse is gpu.CSR in host memory; see its comment for begin, end and list.
type sparse struct {
	begin, end []int64
	idx        []int32
	val        []float32 // nil: all ones
	list       []int32   // nil: identity
	rows, cols int
	entries    int64
}
