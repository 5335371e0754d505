package minibatch

import (
	"slices"
	"sync"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
)

// roots says which vertices are the roots of a step, and which part computes which of them. It is safe for use by several goroutines.
//
// Every training vertex is a root once in an epoch. With global roots there is one order of all; a step takes the next batch of it, of which each part has a
// contiguous share, in part order, or those whose home it is. With local roots each part has an order of its own training vertices, cut into as many steps.
type roots struct {
	seed  uint64
	batch int
	steps int              // of an epoch
	train [][]graph.NodeID // one list, or with local roots one by part
	local bool
	bound []float64 // parts+1: where shares begin and end, 0 to 1; nil: equal ones
	parts int
	total int   // training vertices
	shift []int // with local roots: which steps have one root more than others differs from part to part

	mu     sync.Mutex
	dealer *dealer      // of roots that are computed at home; nil: parts have spans of the lists
	orders []epochOrder // of as many epochs as may be sampled at the same time, by turns
}

// epochOrder is the order of each list in an epoch.
type epochOrder struct {
	epoch int // -1: none yet
	lists [][]graph.NodeID
	ends  []int // with a dealer: by step and part, where its roots end among the step's
}

func newRoots(p *learn.Problem, o *Options) *roots {
	r := &roots{seed: o.Model.Seed, batch: o.Sampling.BatchSize, local: o.Sampling.Local && len(o.Devices) > 1, parts: len(o.Devices)}
	r.train = make([][]graph.NodeID, 1)
	if r.local {
		r.train = make([][]graph.NodeID, r.parts)
	}
	for v := range graph.NodeID(p.Vertices()) {
		if p.Trains(v) {
			r.total++
			list := 0
			if r.local {
				list = int(o.Part[v])
			}
			r.train[list] = append(r.train[list], v)
		}
	}
	r.steps = max(1, (r.total+r.batch-1)/r.batch)
	before := 0
	for _, train := range r.train {
		r.shift = append(r.shift, before%r.steps)
		before += len(train)
	}
	if o.Shares != nil {
		sum, all := 0.0, 0.0
		for _, s := range o.Shares {
			all += s
		}
		r.bound = append(r.bound, 0)
		for _, s := range o.Shares {
			sum += s
			r.bound = append(r.bound, sum/all)
		}
	}
	if o.Sampling.Place == Home && !r.local && r.parts > 1 {
		r.dealer = newDealer(o.Part, r.parts, o.Shares)
	}
	r.orders = make([]epochOrder, 2+o.Sampling.Prefetch/r.steps)
	for k := range r.orders {
		r.orders[k].epoch = -1
	}
	return r
}

// span returns which elements of the list of a part are its roots of a step of an epoch, and which list that is, where there is no dealer.
func (r *roots) span(batch, part int) (list, lo, hi int) {
	if r.local {
		n, from := len(r.train[part]), r.shift[part]
		return part, (n*batch + from) / r.steps, (n*(batch+1) + from) / r.steps
	}
	first := batch * r.batch
	n := min(r.batch, len(r.train[0])-first)
	return 0, first + r.cut(n, part), first + r.cut(n, part+1)
}

// cut returns how many of a step's n roots parts before one have.
func (r *roots) cut(n, part int) int {
	if r.bound == nil {
		return n * part / r.parts
	}
	return int(float64(n) * r.bound[part])
}

// batchOf returns which elements of the one list are the roots of a step, with global roots.
func (r *roots) batchOf(batch int) (lo, hi int) {
	lo = batch * r.batch
	return lo, min(lo+r.batch, r.total)
}

// count returns how many roots a step has over all parts.
func (r *roots) count(batch int) (n int) {
	if !r.local {
		lo, hi := r.batchOf(batch)
		return hi - lo
	}
	for part := range r.parts {
		_, lo, hi := r.span(batch, part)
		n += hi - lo
	}
	return n
}

// most returns how many roots a part has in a step, at most.
func (r *roots) most(part int) (n int) {
	if r.dealer != nil {
		return r.dealer.limit(r.count(0), part)
	}
	for b := range r.steps {
		_, lo, hi := r.span(b, part)
		n = max(n, hi-lo)
	}
	return n
}

// of writes the roots of a part in step t of the run to into, and returns them.
func (r *roots) of(t, part int, into []graph.NodeID) []graph.NodeID {
	batch := t % r.steps
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.order(t / r.steps)
	if r.dealer == nil {
		list, lo, hi := r.span(batch, part)
		return append(into[:0], o.lists[list][lo:hi]...)
	}
	first, _ := r.batchOf(batch)
	ends, lo := o.ends[batch*r.parts:][:r.parts], 0
	if part > 0 {
		lo = ends[part-1]
	}
	return append(into[:0], o.lists[0][first+lo:first+ends[part]]...)
}

// order returns the order of an epoch.
func (r *roots) order(epoch int) *epochOrder {
	o := &r.orders[epoch%len(r.orders)]
	if o.epoch == epoch {
		return o
	}
	o.epoch = epoch
	o.lists = slices.Grow(o.lists[:0], len(r.train))[:len(r.train)]
	for i, train := range r.train {
		o.lists[i] = sample.Order(train, r.seed, uint32(epoch), o.lists[i])
	}
	if r.dealer == nil {
		return o
	}
	o.ends = slices.Grow(o.ends[:0], r.steps*r.parts)[:r.steps*r.parts]
	for b := range r.steps {
		lo, hi := r.batchOf(b)
		r.dealer.atHome(o.lists[0][lo:hi], o.ends[b*r.parts:][:r.parts])
	}
	return o
}

// bytes is the size of the lists and orders.
func (r *roots) bytes() gpu.Bytes {
	n := 4 * gpu.Bytes((1+len(r.orders))*r.total)
	if r.dealer != nil {
		n += 8 * gpu.Bytes(len(r.orders)*r.steps*r.parts)
	}
	return n
}
