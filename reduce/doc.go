// Package reduce adds up the gradients of all parts, takes the optimiser's steps, and gives every part the new weights.
//
// Its nouns: a Part is one part's side: its queues, its copy of the weights, its gradients, and which devices it reaches; an Owner is the
// memory of the update rule on the device that takes the steps; a Reduction is all parts of a run.
//
// # Contract
//
// In every epoch a part calls Done for each layer, from the last to the first, as soon as its compute queue has been given everything that
// writes the layer's gradients, and Finish behind its backward pass. Both enqueue and return; Finish blocks where another part has not called yet,
// for as long as package meet lets it, and both end the part's meet.Guard if that is too long. Calls for one part come from one goroutine. When a
// part's compute queue has run what Finish gave it, its weights are the new ones, and its gradients may be written again.
//
// Every element is summed in the order of parts, whatever arrives first. So the weights are a function of the gradients and of the
// number of parts, on every part the same, to the bit.
//
// Who owns which elements is known in this package alone: callers see Moments, which lists what a checkpoint keeps in the order of elements.
// Today part 0 owns all.
//
// # Source
//
// docs/caching.md. Sums per layer beside the backward pass are PyTorch DDP's (Li et al., VLDB 2020), its order of sums is not.
//
// # Usage
//
//	r := reduce.New(hub, parts, weights.Layers()) // parts[0].Owner is given
//	err := meet.Guard(func() {                    // of part i
//		pass.Backward(q, halo, epoch, func(layer int) { r.Done(i, layer) })
//		r.Finish(i)
//	})
package reduce
