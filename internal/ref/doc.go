// Package ref is the operations of package gpu as loops in float64: what every backend is compared with.
//
// Its nouns: a Matrix of float64 and a CSR in host memory. There is a file per operation, named as its twin in
// gpu/host, and each function is the doc comment of the operation made code. They are written to be read and are never
// optimised. Only tests import them.
//
// # Contract
//
// Functions return new values and change no argument. Shapes are the caller's business: a wrong one panics as Go does.
// Randomness and rounding to float32 are left out: masks come in as functions, inputs are exact float32 values.
//
// # Source
//
// The doc comments of gpu.Ops; docs/mathematics.md for the models.
//
// # Usage
//
//	a := ref.NewMatrix(2, 3)
//	b := ref.NewMatrix(3, 4)
//	// ...
//	want := ref.Gemm(a, b, false, false, 0, ref.Matrix{})
//	for i := range want.Rows {
//		compare(got[i], want.Row(i))
//	}
package ref
