package reduce

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Part is one part's side of a reduction.
type Part struct {
	Compute gpu.Queue // of the backward pass and the update
	Reduce  gpu.Queue // sums of gradients; of other parts, gradients on their way to host memory
	Waits   *meet.Waits
	// Weights and Gradients are flat, of equal layout on all parts.
	Weights, Gradients gpu.Vec
	Same               []bool // by part: it lives on this very device
	Reach              []bool // by part: this device can copy from its device
	Owner              *Owner // of part 0; nil: the part takes no steps

	// gradStage and weightStage are host memory on the way to and from the owner, nil where devices reach each other.
	gradStage, weightStage []byte
}

// Reduction is the sums, the step and the way of the weights of all parts of a run.
//
// Method: a part says when its compute queue has been given the last operation on a layer's gradients. Part 0 has a queue of
// its own for sums: for layers from the last to the first it waits for its own gradients of the layer, then, for the other
// parts in order, for theirs, copies them to its stage and adds them. So sums are under way while earlier layers are still in
// their backward pass. The step follows on part 0's compute queue, behind all sums; the others copy the weights behind it.
//
// The bits are those of adding whole gradients one after another when every part is done.
type Reduction struct {
	hub     *meet.Hub
	parts   []Part
	owner   *Owner
	layers  [][]gnn.Range    // elements of the flat vectors that belong to each layer
	mail    []chan share     // of each part, to part 0: layers from the last to the first
	updated []chan gpu.Event // from part 0 to each part

	// Of part 0, in the epoch under way.
	own         []gpu.Event // its own gradients of each layer, nil until they have been enqueued
	layer, part int         // of the next sum; part 0: nothing of the layer has been done
}

// share tells part 0 where the gradients of a layer are and when they are ready.
type share struct {
	layer int
	ready gpu.Event
}

// exchange names the way of a layer's gradients, or of new weights, in errors.
type exchange struct{ layer int }

func (x exchange) String() string { return fmt.Sprintf("layer %d %s", x.layer, gnn.Backward) }

// New returns the reduction of parts, the first of which is the owner. layers are the elements of the flat vectors that belong to each
// layer. Nothing is allocated in an epoch.
func New(h *meet.Hub, parts []Part, layers [][]gnn.Range) *Reduction {
	r := &Reduction{hub: h, parts: parts, owner: parts[0].Owner, layers: layers, own: make([]gpu.Event, len(layers)), layer: len(layers) - 1}
	for i := range parts {
		// As many places as values in an epoch, so senders never block.
		r.mail = append(r.mail, make(chan share, len(layers)))
		r.updated = append(r.updated, make(chan gpu.Event, 1))
		p := &parts[i]
		if n := 4 * p.Gradients.Len; i > 0 {
			if !parts[0].Reach[i] {
				p.gradStage = make([]byte, n)
			}
			if !p.Reach[0] {
				p.weightStage = make([]byte, n)
			}
		}
	}
	return r
}

// Lock has lock replace the host memory that gradients and weights of a part pass through by memory of its size: page-locked, or what
// it is given.
func (r *Reduction) Lock(part int, lock func(mem []byte) []byte) {
	p := &r.parts[part]
	p.gradStage, p.weightStage = lock(p.gradStage), lock(p.weightStage)
}

// Done says that a part's compute queue has been given everything that writes the gradients of a layer. Part 0 enqueues the sums
// whose shares are there already.
func (r *Reduction) Done(part, layer int) {
	if len(r.parts) == 1 {
		return
	}
	p := &r.parts[part]
	ready := p.Compute.Record()
	if part == 0 {
		r.own[layer] = ready
		r.advance(false)
		return
	}
	if p.gradStage != nil {
		p.Reduce.Wait(ready)
		for _, g := range r.layers[layer] {
			p.Reduce.Download(p.gradStage[4*g.Lo:4*g.Hi], p.Gradients.Buf, 4*gpu.Bytes(p.Gradients.Off+g.Lo))
		}
		ready = p.Reduce.Record()
	}
	r.mail[part] <- share{layer, ready}
}

// advance enqueues the sums whose turn it is, in their order: with wait, all that are left of the epoch; without, those whose
// shares are there.
func (r *Reduction) advance(wait bool) {
	q := r.parts[0].Reduce
	for r.layer >= 0 && r.own[r.layer] != nil {
		if r.part == 0 {
			q.Wait(r.own[r.layer])
			r.part = 1
		}
		for ; r.part < len(r.parts); r.part++ {
			if !wait && len(r.mail[r.part]) == 0 {
				return
			}
			s := meet.Receive(r.hub, r.mail[r.part], 0, r.part, fmt.Sprintf("gradients of layer %d", r.layer))
			if s.layer != r.layer {
				panic(fmt.Sprintf("reduce: gradients of layer %d of part %d where layer %d is due", s.layer, r.part, r.layer))
			}
			r.parts[0].Waits.For(q, s.ready, r.part, exchange{r.layer}, "gradients")
			for _, g := range r.layers[r.layer] {
				r.add(q, r.part, g)
			}
		}
		r.layer, r.part = r.layer-1, 0
	}
}

// add enqueues part 0's gradients += those of a part, of some elements.
func (r *Reduction) add(q gpu.Queue, part int, g gnn.Range) {
	own, p := &r.parts[0], &r.parts[part]
	theirs := row(p.Gradients.Slice(g.Lo, g.Hi))
	stage := row(r.owner.stage.Slice(0, g.Hi-g.Lo))
	switch {
	case p.gradStage != nil:
		q.Upload(stage.Buf, 4*gpu.Bytes(stage.Off), p.gradStage[4*g.Lo:4*g.Hi])
	case own.Same[part]: // nothing is to be copied
		stage = theirs
	default:
		q.(gpu.PeerCopier).CopyFrom(stage, theirs)
	}
	q.Axpby(row(own.Gradients.Slice(g.Lo, g.Hi)), 1, stage, 1)
}

// Finish enqueues what is left of the epoch behind a part's backward pass: at part 0 the other sums, the step and the weights'
// way to those who do not reach part 0's memory; at the others the copy of the weights.
func (r *Reduction) Finish(part int) {
	if part > 0 {
		r.copyWeights(part)
		return
	}
	p := &r.parts[0]
	if len(r.parts) > 1 {
		r.advance(true)
		p.Compute.Wait(p.Reduce.Record())
	}
	clear(r.own)
	r.layer, r.part = len(r.layers)-1, 0
	r.owner.Step(p.Compute, p.Weights, p.Gradients)
	for i := 1; i < len(r.parts); i++ {
		if to := r.parts[i].weightStage; to != nil {
			p.Compute.Download(to, p.Weights.Buf, 4*gpu.Bytes(p.Weights.Off))
		}
		r.updated[i] <- p.Compute.Record()
	}
}

// copyWeights enqueues a part's weights = part 0's, when they are updated. Every part has read the old ones by then: the step waits
// for all gradients.
func (r *Reduction) copyWeights(part int) {
	p, q := &r.parts[part], r.parts[part].Compute
	p.Waits.For(q, meet.Receive(r.hub, r.updated[part], part, 0, "new weights"), 0, exchange{0}, "new weights")
	to, from := row(p.Weights), row(r.parts[0].Weights)
	switch {
	case p.weightStage != nil:
		q.Upload(p.Weights.Buf, 4*gpu.Bytes(p.Weights.Off), p.weightStage)
	case p.Same[0]:
		q.Copy(to, from)
	default:
		q.(gpu.PeerCopier).CopyFrom(to, from)
	}
}
