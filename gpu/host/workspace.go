package host

// workspace is scratch memory of a device that operations share, one at a time. It grows to what the largest operation
// needs and is then reused: nothing is allocated in the epoch loop.
type workspace struct {
	f32  []float32
	f64  []float64
	bits []uint32

	weights [2][]float32 // of products whose rows are made in the same pass, packed

	// Divided among workers.
	blocks []float32 // rows of operands and results
	row    []float32 // one row
	curve  []float32 // of a curved activation: a row's output, and its gradient
}
