package reduce

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// lanes is how many pieces an owner has under way at the same time: while one is copied, another one is added.
const lanes = 2

// Queues are the queues of a part besides its compute queue.
type Queues struct {
	// Lanes sum up and step the pieces that the part owns, alternately, and fetch the others' weights. nil: the part
	// owns nothing.
	Lanes [lanes]gpu.Queue
	Out   gpu.Queue // gradients on their way to host memory
}

// NewQueues returns the queues of a part; owner says that it is the first one on its device.
func NewQueues(dev gpu.Device, owner bool) Queues {
	q := Queues{Out: dev.NewQueue("gradients")}
	if owner {
		q.Lanes = [lanes]gpu.Queue{dev.NewQueue("reduce"), dev.NewQueue("reduce 2")}
	}
	return q
}

// All returns those that there are.
func (q *Queues) All() []gpu.Queue {
	if q.Lanes[0] == nil {
		return []gpu.Queue{q.Out}
	}
	return append(q.Lanes[:], q.Out)
}

// Part is one part's side of a reduction.
type Part struct {
	Compute gpu.Queue // of the backward pass
	Queues
	Waits *meet.Waits
	// Weights and Gradients are flat, of equal layout on all parts.
	Weights, Gradients gpu.Vec
	Reach              []bool // by part: this device can copy from its device, or is it
	Owner              *Owner // nil: the part owns nothing

	// gradStage and weightStage are host memory on the way to owners and from this one, empty where devices reach each other.
	gradStage, weightStage []byte
	stageOf                map[int]int // by owner: byte of gradStage where what goes to it begins; missing: it reaches this part

	// Of an owner, in the epoch under way.
	next, from int    // the sum whose turn it is: of which piece, with which summand
	seen       uint32 // messages of other ranks of smaller numbers are those of its steps before
}

// Reduction sums the gradients of all parts of a run, takes the steps and distributes the weights.
//
// Method: a part reports when the last operation on a layer's gradients is on its compute queue. Then they go to the
// owners of their slices, piece by piece, the first piece of every owner before the second of any. An owner takes its
// pieces in order, alternating between its lanes, and for each piece the parts in order: it waits for a part's
// gradients, copies them (from the part's device, or from the host memory where the part has put them) and adds them.
// The step of a piece follows on the lane, then one copy to host memory, if other devices fetch it there. Then the
// lanes fetch the pieces of the other owners. Other parts of an owner's device copy its weights.
//
// The summands of a piece are its gradients at the parts, in part order; on ranks after the first, the sum of all
// ranks before comes first, from host memory. An owner of the last rank takes the step; the others send the sum on,
// and the weights come back (chain.go).
//
// The bits are those of adding whole gradients one after another when every part is done, and of one step of all of them.
type Reduction struct {
	*Division
	hub     *meet.Hub
	parts   []Part
	chain   *chain             // to other ranks; nil: there are none
	clip    *clipping          // nil: the norm of the gradient is not limited, or not here
	due     [][]delivery       // by layer: what it completes
	shares  [][]chan gpu.Event // by owner and part: gradients of the owner's pieces, in their order, are there; nil: the part owns nothing
	stepped [][]chan gpu.Event // by owner and reading owner: the weights of the owner's pieces, in their order, are new
	whole   []chan gpu.Event   // by part: all weights of its device's first part are new
	names   []string           // by layer: its gradients
	layers  []fmt.Stringer     // by layer: its exchange
}

// exchange names the way of a layer's gradients, or of new weights, in errors.
type exchange struct{ layer int }

func (x exchange) String() string { return fmt.Sprintf("layer %d %s", x.layer, gnn.Backward) }

// New returns the reduction of the parts that were divided. In one process nothing is allocated in an epoch. One of several ranks has to Join
// the others first.
func New(h *meet.Hub, parts []Part, d *Division) *Reduction {
	r := &Reduction{Division: d, hub: h, parts: parts, clip: newClipping(parts, d)}
	r.schedule()
	for i := range parts {
		p := &parts[i]
		n := len(d.pieces[i])
		var shares, stepped []chan gpu.Event
		if d.home[i] == i { // parts may be thousands, owners are as few as devices
			shares, stepped = make([]chan gpu.Event, len(parts)), make([]chan gpu.Event, len(parts))
			for k := range shares { // as many places as values in an epoch, so senders never block
				shares[k] = make(chan gpu.Event, n)
			}
			for k := range parts {
				if d.home[k] == k {
					stepped[k] = make(chan gpu.Event, n)
				}
			}
		}
		r.shares, r.stepped = append(r.shares, shares), append(r.stepped, stepped)
		r.whole = append(r.whole, make(chan gpu.Event, 1))
		p.stageOf = map[int]int{}
		staged := 0
		for o := range parts {
			if d.home[o] != o || parts[o].Reach[i] {
				continue
			}
			p.stageOf[o] = staged
			staged += 4 * d.Elements(o)
			if p.weightStage == nil && d.at.alone() { // over ranks new weights are in host memory anyway
				p.weightStage = make([]byte, 4*d.Elements(i))
			}
		}
		p.gradStage = make([]byte, staged)
	}
	return r
}

// schedule lists for every layer the pieces that it completes, owners taking turns.
func (r *Reduction) schedule() {
	for _, own := range r.pieces {
		for _, p := range own {
			for len(r.due) <= p.layer {
				r.names = append(r.names, fmt.Sprintf("gradients of layer %d", len(r.due)))
				r.layers = append(r.layers, exchange{len(r.due)})
				r.due = append(r.due, nil)
			}
		}
	}
	for layer := range r.due {
		for turn, left := 0, true; left; turn++ {
			left = false
			for o, own := range r.pieces {
				first := 0
				for first < len(own) && own[first].layer != layer {
					first++
				}
				if i := first + turn; i < len(own) && own[i].layer == layer {
					r.due[layer] = append(r.due[layer], delivery{o, i})
					left = true
				}
			}
		}
	}
}

// Lock calls lock to replace the host memory through which gradients and weights of a part pass: lock page-locks
// memory of that size, or returns what it was given.
func (r *Reduction) Lock(part int, lock func(mem []byte) []byte) {
	p := &r.parts[part]
	p.gradStage, p.weightStage = lock(p.gradStage), lock(p.weightStage)
	if part == 0 && r.clip != nil {
		r.clip.host = lock(r.clip.host)
	}
}

// single reports whether there is nothing to add, and nobody to give weights to.
func (r *Reduction) single() bool { return len(r.parts) == 1 && r.at.alone() }

// Done reports that everything that writes the gradients of a layer, or of those after it, or reads their weights is
// on a part's compute queue. An owner enqueues the sums whose summands have arrived.
func (r *Reduction) Done(part, layer int) {
	if r.single() || layer >= len(r.due) || len(r.due[layer]) == 0 {
		return
	}
	p := &r.parts[part]
	ready := p.Compute.Record()
	var staged gpu.Event // the last piece that went to host memory
	for _, x := range r.due[layer] {
		event := ready
		if base, there := p.stageOf[x.owner]; there {
			if staged == nil {
				p.Out.Wait(ready)
			}
			own := &r.pieces[x.owner][x.index]
			p.Out.Download(own.in(p.gradStage[base:]), p.Gradients.Buf, 4*gpu.Bytes(p.Gradients.Off+own.Lo))
			event = p.Out.Record()
			staged = event
		}
		r.shares[x.owner][part] <- event
	}
	if staged != nil {
		p.Waits.Owe(staged)
	}
	if p.Owner != nil && layer > 0 {
		r.sum(part)
	}
}

// in returns the bytes of the piece in memory that holds its owner's slices.
func (p *piece) in(mem []byte) []byte { return mem[4*p.at : 4*(p.at+p.len())] }

// on returns the bytes of the piece in memory that holds what ranks send.
func (p *piece) on(mem []byte) []byte { return mem[4*p.wire : 4*(p.wire+p.len())] }

// end returns the byte behind the piece in memory that holds what ranks send.
func (p *piece) end() int { return 4 * (p.wire + p.len()) }

// lane returns the queue of an owner's piece.
func (p *Part) lane(piece int) gpu.Queue { return p.Lanes[piece%lanes] }

// sum enqueues an owner's sums whose shares are there, in their order, but for those that the first layer completes: Finish follows at once.
func (r *Reduction) sum(owner int) {
	p := &r.parts[owner]
	for ; p.next < len(r.pieces[owner]) && r.pieces[owner][p.next].layer > 0; p.next, p.from = p.next+1, 0 {
		for ; p.from < r.summands(); p.from++ {
			if !r.there(owner, p.next, p.from) {
				return
			}
			r.add(owner, p.next, p.from)
		}
		r.pass(owner, p.next)
	}
}

// summands is how many a piece has: the gradients of the parts here, and on ranks behind the first the sum of those before.
func (r *Reduction) summands() int { return r.at.before() + len(r.parts) }

// there reports whether a summand of an owner's piece can be added without waiting.
func (r *Reduction) there(owner, index, summand int) bool {
	if part := summand - r.at.before(); part >= 0 {
		return len(r.shares[owner][part]) > 0
	}
	return r.chain.sums.There(r.message(owner), r.pieces[owner][index].end())
}

// add enqueues the sum of a piece with one of its summands. Those before the owner's gradients are summed up apart, as the owner's come behind
// them: float addition is commutative, but not associative.
func (r *Reduction) add(owner, index, summand int) {
	p, x, q := &r.parts[owner], &r.pieces[owner][index], r.parts[owner].lane(index)
	part := summand - r.at.before() // -1: all parts of the ranks before
	var ready gpu.Event
	if part < 0 {
		r.await(owner, index, r.chain.sums, part, r.names[x.layer])
	} else {
		ready = meet.Receive(r.hub, r.shares[owner][part], r.number(owner), r.number(part), r.names[x.layer])
	}
	own, in, acc := row(p.Gradients.Slice(x.Lo, x.Hi)), p.Owner.in[index%lanes], p.Owner.acc[index%lanes]
	switch {
	case part == owner:
		q.Wait(ready)
		switch {
		case summand > 1:
			q.Axpby(own, 1, row(acc.Slice(0, x.len())), 1)
		case summand == 1:
			q.Axpby(own, 1, row(in.Slice(0, x.len())), 1)
		}
		return
	case part >= 0:
		p.Waits.For(q, ready, r.number(part), r.layers[x.layer], "gradients")
	}
	switch {
	case part > owner && r.home[part] == owner: // they are on this device
		q.Axpby(own, 1, row(r.parts[part].Gradients.Slice(x.Lo, x.Hi)), 1)
	case part > owner:
		q.Axpby(own, 1, r.fetch(q, owner, part, x, in), 1)
	case summand == 0 && r.at.before()+owner > 1:
		r.fetch(q, owner, part, x, acc)
	case summand == 0:
		r.fetch(q, owner, part, x, in)
	default:
		q.Axpby(row(acc.Slice(0, x.len())), 1, r.fetch(q, owner, part, x, in), 1)
	}
}

// number returns that of a part among the parts of all ranks.
func (r *Reduction) number(part int) int { return r.at.First + part }

// fetch enqueues the copy of a part's gradients of a piece, or of the sum of the ranks before, to an owner's device.
func (r *Reduction) fetch(q gpu.Queue, owner, part int, x *piece, to gpu.Vec) gpu.Matrix {
	dst := row(to.Slice(0, x.len()))
	if part < 0 {
		q.Upload(dst.Buf, 4*gpu.Bytes(dst.Off), x.on(r.chain.sums.Mem))
		return dst
	}
	from := &r.parts[part]
	if base, there := from.stageOf[owner]; there {
		q.Upload(dst.Buf, 4*gpu.Bytes(dst.Off), x.in(from.gradStage[base:]))
	} else {
		q.(gpu.PeerCopier).CopyFrom(dst, row(from.Gradients.Slice(x.Lo, x.Hi)))
	}
	return dst
}
