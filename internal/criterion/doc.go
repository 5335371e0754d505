// Package criterion is the weighted and smoothed cross-entropy of vertices with one label.
//
// Its nouns: a Criterion has the weights of classes and the share of label smoothing; a Weighing computes its loss and gradient on a device.
//
// # Contract
//
// A Criterion is a value. Its sums do not depend on how rows are divided among goroutines. A Weighing belongs to one queue, allocates nothing on the device once it is made,
// and enqueues: the loss is in host memory when Queue has run it. Weighings of several parts add up, each with the scale of all.
//
// # Source
//
// torch.nn.CrossEntropyLoss(weight, label_smoothing). Smoothing: Szegedy et al., CVPR 2016. docs/mathematics.md has the formulas, docs/adr/0050 why the loss is made on the host.
//
// # Usage
//
//	w := criterion.Criterion{Weights: weights, Smoothing: 0.1}.On(alloc, q, newQueue, classes, rows)
//	kinds := upload(w.Kinds(labels))
//	w.Loss(q, gpu.LossArgs{Logits: z, Grad: dz, Labels: labels, Scale: 1 / total, Loss: scratch}, kinds, host)
package criterion
