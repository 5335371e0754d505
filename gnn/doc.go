// Package gnn is graph neural networks on one device: the operations of a program, forward and backward, their buffers, weights, initialisation,
// losses and metrics.
//
// Its nouns: a Model is what is derived from a program, a Config that with the settings of training; Weights are its parameters on the host; a Pass is one way through the network on
// one device (training or evaluation) with the buffers it needs; a Halo brings the rows of vertices that other devices
// own. The package sees neither a graph nor a partition: adjacency is handed in as an Operand, {inner, halo} sparse
// matrices with row scales.
//
// # Contract
//
// A Pass only enqueues: Forward and Backward return before the work is done. All buffers are planned when the Pass is
// made and live in a Workspace; nothing is allocated in between (saving 7). The order of operations, and so of every
// sum, is fixed by the Plan and the shapes. Gradients are partial sums over the rows of this device; whoever runs several
// devices adds them up.
//
// # Blocks
//
// A LayerGraph is rectangular: a layer reads Src rows and computes the first Rows of them. So a pass goes through whole graphs and
// through stacks of sampled blocks alike. For blocks that differ from step to step, NewPass plans for the largest ones that are
// known; of these LayerGraphs only the sizes are read. Bind, before each step's Forward, has the pass go through that step's
// blocks; blocks beyond what was planned are *Exceeds, and Grow makes room for them. Src of a layer is Rows of the one before. With
// ÂX precomputed layer 0 has no entries, its Src is its Rows, and Input holds AX and, but for GCN, X of these. Entries over some of
// a vertex's neighbours weigh n/k more (Rescale).
//
// NewLayerPass goes through one layer alone, for evaluation layer by layer.
//
// # Source
//
// docs/mathematics.md. The paper trains GCN and GraphSAGE as its PyTorch code does (§2.1); the savings, GIN, GAT across parts and
// exact needed rows are ours.
//
// # Usage
//
//	ws := gnn.NewWorkspace(gpu.Info{})
//	pass := gnn.NewPass(cfg, plan, layers, input, params, ws)
//	err := ws.Alloc(dev)
//	logits := pass.Forward(q, halo, epoch)
//	q.SoftmaxLoss(gpu.LossArgs{Logits: logits, Grad: pass.LossGrad(), Labels: labels, Scale: 1 / n, Loss: loss})
//	pass.Backward(q, halo, epoch, nil)
package gnn
