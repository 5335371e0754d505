// Package layered evaluates a model exactly on graphs that no device holds: layer by layer, each part its own
// vertices, in chunks.
//
// Its nouns: a chunk is some consecutive ones of the vertices of a part that a layer computes; a block is a chunk
// with all in-neighbours of its vertices; a table holds the output of a layer, a row for every vertex, or those of
// this process's parts and what they read; a task is one pass over all vertices, which computes a layer or ÂX; a
// division cuts a part into chunks for a task.
//
// # Contract
//
// Logits equal those of a forward pass over the whole graph, without dropout, to rounding. Where those of some
// vertices are wanted (Options.Rows), a layer computes the rows that these need, from the last layer backwards, and
// no others. A layer reads the table of the layer before it and writes its own, so two tables exist at a time,
// shared by all parts of the process, each with the rows that a layer computes and the next one reads. With
// Options.Shares they exist during a call alone, as does what a call takes of a CPU device. They lie in memory if
// there is room and CPU devices may use as much, else in files that vanish with the process (in TMPDIR). Layer 0
// reads the features, dense or sparse, or ÂX, which is computed once, in the same way; rows of ÂX, and of the
// features beside them, may lie on the devices (Keep).
//
// Bits are a function of the problem, the weights and the options. Entries of a block stay in the order of the
// graph's rows, so sums over neighbours depend on neither chunks nor parts; the order of a layer's operations
// depends on how many chunks there are, and on how many rows are needed. The order in which chunks are emitted does
// not depend on when they were computed.
//
// Each part takes at most Options.ChunkBytes of its device, or 256 MiB of a CPU device where the part is not one
// chunk, and the weights: for two inputs, one of which is filled while the other is computed on (one input where
// the part is one chunk), and for the buffers of one layer. Bounds announces how much. A row is computed from all
// of its in-neighbours at once, as a softmax over them cannot be cut. So a vertex whose in-neighbours take more
// than ChunkBytes has a chunk of its own, and the bound is larger; if the device has less, New returns *TooLarge.
// The host holds the tables, blocks of two chunks per part, and 24 bytes per 64 vertices and part.
//
// Parts of other processes have no device here: a process computes the rows of its own parts, and Options.Complete
// fetches, layer by layer, the rows of other parts that these read.
//
// An evaluation ends with its context, within a chunk, and every wait for a device has a deadline. When a call
// returns, its goroutines have ended, and it no longer uses the caller's memory. If a device has not answered in
// time, the Evaluator computes nothing more and keeps the memory that the device may still write to. Calls must not
// overlap.
//
// # Source
//
// Layer-wise inference is what DGL and PyTorch Geometric do after sampled training (Hamilton et al., 2017, needs
// all neighbours then). Ours are chunks by bytes, several unequal devices and the order of entries.
//
// # Usage
//
//	e, err := layered.New(ctx, problem, layered.Options{Model: cfg, Devices: devices, Part: part, Precomputed: true})
//	defer e.Close()
//	ax, err := e.Aggregated(ctx) // ÂX by vertex, for training
//	err = e.Logits(ctx, weights, func(ids []graph.NodeID, rows []float32) error { ... })
package layered
