// Package reduce adds up the gradients of all parts, takes the optimiser's steps, and gives every part the new weights.
//
// Its nouns: a Division says which part owns which elements; a Part is one part's side: its queues, its copy of the
// weights, its gradients, and which devices it reaches; an Owner is the optimiser state and the receive buffers of a
// part that owns a slice; a Reduction is all parts of a run in this process. Other processes, which are called ranks,
// are reached by package link.
//
// # Contract
//
// In every epoch a part calls Done for each layer, from the last to the first, as soon as everything that writes the
// layer's gradients or reads its weights is on its compute queue, and Finish after its backward pass. Both enqueue
// and return. Finish blocks while another part has not called yet; after the deadline of package meet both end the
// part's meet.Guard. Calls for one part come from one goroutine. When the compute queue has run what Finish enqueued,
// the part has the new weights, and its gradients may be overwritten.
//
// Every element is summed in the order of parts, whatever arrives first. So the weights are a function of the gradients and of the
// number of parts, on every part the same, to the bit.
//
// As in a reduce-scatter and an all-gather, each of P devices sums up and steps 1/P of every layer, then fetches the
// rest. A device sends and receives G(P-1)/P bytes of gradients, and as many of weights. If devices cannot copy
// directly, slices pass through host memory, which is filled once for all readers. With m parts on a device only the
// first owns a slice. Each part sends its gradients separately, because adding them on the device first would change
// the order of the sum; so gradients cost m times as much, and weights as much.
//
// With gnn.Optimizer.Clip the step waits for the sums of all elements, because it needs the norm of the whole
// gradient (clip.go).
//
// Only this package knows who owns which elements: callers see Moments, which lists what a checkpoint keeps in the
// order of elements.
//
// Over several ranks each has consecutive parts, and the sum is the same: every rank adds its parts to the sum of the
// ranks before, the last one takes the step, and the new weights return the same way, so bits do not depend on the
// ranks. A link between neighbours carries G bytes each way, as one message in pieces of at most 256 KiB, and a rank
// needs 2G bytes of host memory for them. Arguments and Moments number parts within their rank, errors within the run.
// Only the last rank has Moments: those of all elements, in order, from which any number of ranks can resume; Steps
// is the same on all ranks. Messages have the number of the steps taken before.
// Queues wait only for this process; parts wait for the network on the host, so each wait has a deadline, and a
// failed Send ends the run of the rank with its error.
//
// # Source
//
// docs/caching.md. Sums per layer beside the backward pass are from PyTorch DDP (Li et al., VLDB 2020); the fixed order of sums is ours. Slices
// of the optimiser's state are the first stage of ZeRO (Rajbhandari et al., SC 2020). An all-reduce over ranks would sum in an order that depends on
// their number.
//
// # Usage
//
//	d := reduce.DivideRank(weights.Layers(), homes, reduce.Rank{}) // by part: the first part on its device
//	parts[i].Owner = d.NewOwner(alloc, queue, rule, i)
//	r := reduce.New(hub, parts, d)
//	err := meet.Guard(func() {                    // of part i
//		pass.Backward(q, halo, epoch, func(layer int) { r.Done(i, layer) })
//		r.Finish(i)
//	})
//
// With ranks the first lines are
//
//	d := reduce.DivideRank(weights.Layers(), homes, reduce.Rank{Index: 1, Count: 2, First: 4})
//	r := reduce.New(hub, parts, d)
//	r.Join(net, gradientArea, weightArea, lock) // when all ranks have announced d.Areas
package reduce
