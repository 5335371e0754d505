// Package reduce adds up the gradients of all parts, takes the optimiser's steps, and gives every part the new weights.
//
// Its nouns: a Division says which part owns which elements; a Part is one part's side: its queues, its copy of the weights, its gradients, and
// which devices it reaches; an Owner is the memory of a part that owns elements: the update rule's, and where gradients arrive; a Reduction is
// all parts of a run.
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
// Every device sums up and steps a slice of every layer, 1/P of the elements of P devices, and then fetches the other slices: G bytes of gradients
// take G(P-1)/P in each direction of a device, and so do the weights. The host memory that slices pass through where devices do not reach each other
// is filled once for all readers. With several parts on a device only its first part owns a slice, and each of its parts sends its
// gradients to the other owners by itself: a sum of them before would be in another order than that of parts. So m parts on each device take
// m·G(P-1)/P for gradients; the weights travel once for each device.
//
// Who owns which elements is known in this package alone: callers see Moments, which lists what a checkpoint keeps in the order of elements,
// whoever owns them.
//
// # Source
//
// docs/caching.md. Sums per layer beside the backward pass are PyTorch DDP's (Li et al., VLDB 2020), its order of sums is not. Slices of the
// optimiser's state are ZeRO's first stage (Rajbhandari et al., SC 2020).
//
// # Usage
//
//	d := reduce.Divide(weights.Layers(), homes) // by part: the first part on its device
//	parts[i].Owner = d.NewOwner(alloc, queue, rule, i)
//	r := reduce.New(hub, parts, d)
//	err := meet.Guard(func() {                    // of part i
//		pass.Backward(q, halo, epoch, func(layer int) { r.Done(i, layer) })
//		r.Finish(i)
//	})
package reduce
