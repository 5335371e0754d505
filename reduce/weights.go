package reduce

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Finish enqueues the rest of the epoch after a part's backward pass: on an owner the remaining sums, the steps and
// the copies of the other owners' weights; on other parts the copy of their device's weights.
func (r *Reduction) Finish(part int) {
	p := &r.parts[part]
	if p.Owner == nil {
		r.copyWeights(part)
		return
	}
	if r.single() {
		if r.clip != nil {
			for i := range r.pieces[part] {
				r.square(part, i, p.Compute)
			}
			if r.limit(part, p.Compute) {
				p.Owner.scale(p.Compute, 0, p.Gradients)
			}
		}
		p.Owner.step(p.Compute, p.Weights, p.Gradients, gnn.Range{Hi: p.Weights.Len}, 0)
		p.Owner.steps++
		return
	}
	for i := range r.pieces[part] {
		if i >= p.next {
			for ; p.from < r.summands(); p.from++ {
				r.add(part, i, p.from)
			}
			p.from = 0
			r.pass(part, i)
		}
		if r.at.alone() && r.clip == nil {
			r.step(part, i)
		}
	}
	if r.clip != nil {
		r.clipAndStep(part)
	}
	p.next = 0
	if !r.at.last() {
		r.takeWeights(part)
	}
	r.fetchWeights(part)
	p.Owner.steps++
	p.seen = r.message(part)
	for l := range p.Lanes {
		p.Compute.Wait(p.Lanes[l].Record())
	}
	for i, home := range r.home {
		if home == part && i != part {
			r.whole[i] <- p.Compute.Record()
		}
	}
}

// step enqueues the step of a piece behind its sum, and its way to those who do not reach the owner's memory.
//
// Nobody reads the old weights of the piece any more. The sum has waited on this lane for every part's gradients, its own among them. They are
// ready when the part's compute queue has run what it was given before Done, so all that reads the weights of these layers. It has then
// also run what the epoch before ended with, Finish's wait for copies from other owners, or the copy of its device's weights. So the event
// of a step stands for all of this too: who waits for it may write the other owners' slices of its own weights.
func (r *Reduction) step(owner, index int) {
	p, x := &r.parts[owner], &r.pieces[owner][index]
	q := p.lane(index)
	p.Owner.step(q, p.Weights, p.Gradients, x.Range, x.at)
	if len(p.weightStage) > 0 {
		q.Download(x.in(p.weightStage), p.Weights.Buf, 4*gpu.Bytes(p.Weights.Off+x.Lo))
	}
	if r.at.alone() {
		r.renewed(owner, q.Record())
		return
	}
	r.download(owner, index, p.Weights)
	r.renewed(owner, q.Record())
	r.send(owner, index)
}

// renewed tells the other owners that the weights of an owner's next piece are new when an event has fired.
func (r *Reduction) renewed(owner int, event gpu.Event) {
	for i, home := range r.home {
		if home == i && i != owner {
			r.stepped[owner][i] <- event
		}
	}
}

// fetchWeights enqueues the copies of the other owners' weights, in turns that begin with the next owner, so that not all begin with one.
func (r *Reduction) fetchWeights(part int) {
	p := &r.parts[part]
	count := len(r.pieces[part]) // the lanes go on by turns
	for turn, left := 0, true; left; turn++ {
		left = false
		for k := range r.parts {
			o := (part + 1 + k) % len(r.parts)
			if o == part || turn >= len(r.pieces[o]) {
				continue
			}
			left = true
			q, x := p.lane(count), &r.pieces[o][turn]
			count++
			ready := meet.Receive(r.hub, r.stepped[o][part], r.number(part), r.number(o), "new weights")
			p.Waits.For(q, ready, r.number(o), r.layers[x.layer], "new weights")
			if p.Reach[o] {
				q.(gpu.PeerCopier).CopyFrom(row(p.Weights.Slice(x.Lo, x.Hi)), row(r.parts[o].Weights.Slice(x.Lo, x.Hi)))
			} else {
				q.Upload(p.Weights.Buf, 4*gpu.Bytes(p.Weights.Off+x.Lo), r.staged(o, x))
			}
		}
	}
}

// staged returns the host memory of an owner's piece of new weights.
func (r *Reduction) staged(owner int, x *piece) []byte {
	if r.at.alone() {
		return x.in(r.parts[owner].weightStage)
	}
	return x.on(r.chain.fresh.Mem)
}

// copyWeights enqueues a part's weights = those of the first part of its device, when all of them are new.
func (r *Reduction) copyWeights(part int) {
	p, home := &r.parts[part], r.home[part]
	ready := meet.Receive(r.hub, r.whole[part], r.number(part), r.number(home), "new weights")
	p.Waits.For(p.Compute, ready, r.number(home), r.layers[0], "new weights")
	p.Compute.Copy(row(p.Weights), row(r.parts[home].Weights))
}
