// Package workers runs loops on a fixed number of threads, cuts them by shape, and keeps the memory that they reuse.
//
// Its nouns: a Pool has parked threads and shares a loop out among them; Own is scratch memory of which each of them has a part.
//
// # Contract
//
// A loop calls its function once for every index, range or block, on at most Pool.Threads goroutines, and returns when all calls
// have. Which thread makes which call is not fixed, so a result may depend on the cut only; that is a function of shapes, never of
// threads (docs/determinism.md): Rows and Pieces cut what is independent, Blocks what is summed. A panic in a loop is thrown again
// from where the loop was called; Guard makes it an error that says where it came from. A Pool runs one loop at a time.
//
// # Source
//
// Ours; the paper has no CPU devices.
//
// # Usage
//
//	pool := workers.NewPool(2)
//	defer pool.Stop()
//	pool.Rows(len(rows), cols, func(worker, lo, hi int) { … })
package workers
