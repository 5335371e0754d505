// Package kernel computes on plain slices: what operations of CPU devices are made of, with assembly for AVX2 and AVX-512.
//
// Its nouns: a Dense, a Dense16 and a Sparse are matrices in host memory, an Either one of the first two; a Level is an
// instruction set; Scratch is memory that products and attention reuse. It knows no device, queue or buffer: package host
// resolves those.
//
// # Contract
//
// Kernels of a row, such as Axpby, NormForward or SoftmaxRow, run on the calling goroutine. Products of matrices (Packed, GemmTN),
// sums over edges (SpMM) and attention (GATAggregate and its gradients) share their work out among the threads of a
// workers.Pool. A result depends on the operands and the level only, never on threads, on the rest of a matrix or on what
// Scratch held before.
//
// Every kernel has a version in Go, whose name ends in Go; builds without assembly use it. Results of assembly and Go may differ by
// rounding only. Callers have checked shapes (package gpu/check); kernels check what assembly would not notice: that
// slices are long enough. Indices of sparse matrices must be valid rows.
//
// # Source
//
// Loops: package gpu. Products: Goto and van de Geijn (2008), see Packed. Files zz_* are written by the generator in gen, whose
// README says how to change a kernel.
//
// # Usage
//
//	pool := workers.NewPool(2)
//	defer pool.Stop()
//	var panels []float32
//	w := kernel.Pack(pool, &panels, weights, true) // once, for all rows of
//	w.Product(z, x, 0)                             // z = x·weightsᵀ
package kernel
