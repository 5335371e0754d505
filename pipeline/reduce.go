package pipeline

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
)

// reduction adds up the gradients of all parts at part 0, takes one optimiser step there, and gives every part the new
// weights.
//
// Method: a part says when its compute queue has been given the last operation on a layer's gradients. Part 0 has a queue of
// its own for sums: for layers from the last to the first it waits for its own gradients of the layer, then, for the other
// parts in order, for theirs, copies them to its stage and adds them. So sums are under way while earlier layers are still in
// their backward pass. The step follows on part 0's compute queue, behind all sums; the others copy the weights behind it.
//
// Each element is summed in part order, whatever arrives first: the bits are those of adding whole gradients one after
// another when every part is done.
//
// Source: docs/caching.md. Sums per layer beside the backward pass are PyTorch DDP's (Li et al., VLDB 2020), its order of sums is
// not.
type reduction struct {
	hub     *meet.Hub
	workers []*worker
	layers  [][]gnn.Range    // elements of the flat vectors that belong to each layer
	mail    []chan share     // of each part, to part 0: layers from the last to the first
	updated []chan gpu.Event // from part 0 to each part

	// Of part 0's worker, in the epoch under way.
	own         []gpu.Event // its own gradients of each layer, nil until they have been enqueued
	layer, part int         // of the next sum; part 0: nothing of the layer has been done
}

// share tells part 0 where the gradients of a layer are and when they are ready.
type share struct {
	layer int
	ready gpu.Event
}

// newReduction returns the reduction of workers that have their gradients. Nothing is allocated in an epoch.
func newReduction(h *meet.Hub, workers []*worker, layers [][]gnn.Range) *reduction {
	r := &reduction{hub: h, workers: workers, layers: layers, own: make([]gpu.Event, len(layers)), layer: len(layers) - 1}
	for _, w := range workers {
		// As many places as values in an epoch, so senders never block.
		r.mail = append(r.mail, make(chan share, len(layers)))
		r.updated = append(r.updated, make(chan gpu.Event, 1))
		if n := 4 * w.grads.Flat.Len; w.index > 0 {
			if !w.reachableFrom(0) {
				w.gradStage = make([]byte, n)
			}
			if !w.reach[0] {
				w.paramStage = make([]byte, n)
			}
		}
	}
	return r
}

// lockHost has the driver page-lock the memory that every epoch copies the loss, gradients and weights through: a GPU's queue is
// parked while it copies to other memory. Without a driver, or where it refuses, the memory stays what it is.
func (t *Trainer) lockHost() {
	o := t.lock()
	if o.Pinner == nil {
		return
	}
	for _, w := range t.workers {
		for _, mem := range []*[]byte{&w.lossHost, &w.gradStage, &w.paramStage} {
			if len(*mem) == 0 {
				continue
			}
			if p, err := hostmem.NewPinned(w.dev.Info().Name, "loss, gradients and weights", int64(len(*mem)), o); err == nil {
				w.pinned = append(w.pinned, p)
				*mem = p.Bytes()
			}
		}
	}
}

// stageLen returns the elements of the largest piece that is added at a time.
func stageLen(layers [][]gnn.Range) int {
	n := 0
	for _, ranges := range layers {
		for _, g := range ranges {
			n = max(n, g.Hi-g.Lo)
		}
	}
	return n
}

// done says that w's compute queue has been given everything that writes the gradients of a layer. Part 0 enqueues the sums
// whose shares are there already.
func (r *reduction) done(w *worker, layer int) {
	if len(r.workers) == 1 {
		return
	}
	ready := w.compute.Record()
	if w.index == 0 {
		r.own[layer] = ready
		r.advance(false)
		return
	}
	if w.gradStage != nil {
		w.reduce.Wait(ready)
		for _, g := range r.layers[layer] {
			w.reduce.Download(w.gradStage[4*g.Lo:4*g.Hi], w.grads.Flat.Buf, 4*gpu.Bytes(w.grads.Flat.Off+g.Lo))
		}
		ready = w.reduce.Record()
	}
	r.mail[w.index] <- share{layer, ready}
}

// advance enqueues the sums whose turn it is, in their order: with wait, all that are left of the epoch; without, those whose
// shares are there.
func (r *reduction) advance(wait bool) {
	q := r.workers[0].reduce
	for r.layer >= 0 && r.own[r.layer] != nil {
		if r.part == 0 {
			q.Wait(r.own[r.layer])
			r.part = 1
		}
		for ; r.part < len(r.workers); r.part++ {
			if !wait && len(r.mail[r.part]) == 0 {
				return
			}
			s := meet.Receive(r.hub, r.mail[r.part], 0, r.part, fmt.Sprintf("gradients of layer %d", r.layer))
			if s.layer != r.layer {
				panic(fmt.Sprintf("pipeline: gradients of layer %d of part %d where layer %d is due", s.layer, r.part, r.layer))
			}
			r.workers[0].waits.For(q, s.ready, r.part, leg{r.layer, gnn.Backward}, "gradients")
			for _, g := range r.layers[r.layer] {
				r.add(q, r.workers[r.part], g)
			}
		}
		r.layer, r.part = r.layer-1, 0
	}
}

// add enqueues part 0's gradients += those of w, of some elements.
func (r *reduction) add(q gpu.Queue, w *worker, g gnn.Range) {
	w0 := r.workers[0]
	theirs := row(w.grads.Flat.Slice(g.Lo, g.Hi))
	stage := row(w0.opt.stage.Slice(0, g.Hi-g.Lo))
	switch {
	case w.gradStage != nil:
		q.Upload(stage.Buf, 4*gpu.Bytes(stage.Off), w.gradStage[4*g.Lo:4*g.Hi])
	case w0.peers[w.index]: // the same device: nothing is to be copied
		stage = theirs
	default:
		copyRows(q, stage, theirs, false)
	}
	q.Axpby(row(w0.grads.Flat.Slice(g.Lo, g.Hi)), 1, stage, 1)
}

// finish enqueues what is left of the epoch behind w's backward pass: at part 0 the other sums, the step and the weights'
// way to those who do not reach part 0's memory; at the others the copy of the weights.
func (r *reduction) finish(w *worker) {
	if w.index > 0 {
		r.copyWeights(w)
		return
	}
	if len(r.workers) > 1 {
		r.advance(true)
		w.compute.Wait(w.reduce.Record())
	}
	clear(r.own)
	r.layer, r.part = len(r.layers)-1, 0
	w.opt.steps++
	step(w.compute, &w.opt, w.params.Flat, w.grads.Flat)
	for i, to := range r.workers[1:] {
		if to.paramStage != nil {
			w.compute.Download(to.paramStage, w.params.Flat.Buf, 4*gpu.Bytes(w.params.Flat.Off))
		}
		r.updated[i+1] <- w.compute.Record()
	}
}

// copyWeights enqueues w's weights = part 0's, when they are updated. Every part has read the old ones by then: the step waits
// for all gradients.
func (r *reduction) copyWeights(w *worker) {
	w0 := r.workers[0]
	w.waits.For(w.compute, meet.Receive(r.hub, r.updated[w.index], w.index, 0, "new weights"), 0, leg{0, gnn.Backward}, "new weights")
	if w.paramStage != nil {
		w.compute.Upload(w.params.Flat.Buf, 4*gpu.Bytes(w.params.Flat.Off), w.paramStage)
		return
	}
	copyRows(w.compute, row(w.params.Flat), row(w0.params.Flat), w.peers[0])
}
