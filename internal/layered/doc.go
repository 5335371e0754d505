// Package layered evaluates a model exactly on graphs that no device holds: layer by layer, each part its own vertices, in chunks.
//
// Its nouns: a chunk is some consecutive vertices of a part, a block their in-neighbours, all of them; a table holds what a layer makes, a row for every
// vertex; a task is one way over all vertices, a layer or ÂX; a division cuts a part into chunks for a task.
//
// # Contract
//
// Logits are those of a forward pass over the whole graph, without dropout, to rounding. A layer reads the table of the layer before and writes one of its
// own: two are alive at once, shared by all parts of the process, in memory where there is room and CPU devices may use as much, else in files that vanish
// with the process (TMPDIR says where). Layer 0
// reads the features, dense or sparse, or ÂX, which is made once, in the same way.
//
// Bits are a function of the problem, the weights and the options. Entries of a block stay in the order of the graph's rows, so sums over neighbours depend on
// neither chunks nor parts; the order of a layer's operations depends on how many chunks there are. Chunks are emitted in an order that says nothing of
// when they were computed.
//
// Memory of a device is bounded by Options.ChunkBytes for each part on it and the weights: two inputs (one, where the part is one chunk), of which one is filled while the other is computed
// on, and the buffers of one layer. Bounds announces it. A row is computed from all of its in-neighbours at once (a softmax over them cannot be cut where
// it would pay), so a vertex of which they take more has a chunk of its own, the bound is larger, and where the device does not have that much
// New returns *TooLarge. Memory of the host: the tables, blocks of two chunks per part, and 24 bytes per 64 vertices and part.
//
// An evaluation ends with its context, within a chunk; every wait for a device has a deadline. When a call has returned, nothing that was lent to it is in use
// and its goroutines have ended. After a device has not answered in time nothing more can be computed, and what it may still write to is kept.
// One call at a time.
//
// # Source
//
// Layer-wise inference is what DGL and PyTorch Geometric do after sampled training (Hamilton et al., 2017, needs all neighbours then). Chunks by bytes,
// several unequal devices and the order of entries are ours.
//
// # Usage
//
//	e, err := layered.New(ctx, problem, layered.Options{Model: cfg, Devices: devices, Part: part, Precomputed: true})
//	defer e.Close()
//	ax, err := e.Aggregated(ctx) // ÂX by vertex, for training
//	err = e.Logits(ctx, weights, func(ids []graph.NodeID, rows []float32) error { ... })
package layered
