package minibatch

import (
	"iter"
	"slices"
	"sync"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/chunks"
)

// roots says which vertices are the roots of a step, and which part computes which of them. It is safe for use by several goroutines.
//
// Every training vertex is a root once in an epoch. With global roots there is one order of all; a step takes the next batch of it, of which each part has a
// contiguous share, in part order, or those whose home it is. With local roots each part has an order of its own training vertices, cut into as many steps.
//
// The roots of a part in a step are one unit. With Hop they are as many units as there are parts; the first ones are those of the time steps, the last ones have no roots, as
// many as time steps are dropped.
type roots struct {
	seed  uint64
	batch int
	steps int              // of an epoch
	train [][]graph.NodeID // one list, or with local roots one by part
	local bool
	bound []float64 // parts+1: where shares begin and end, 0 to 1; nil: equal ones
	parts int
	units int // of a part in a step
	total int // training vertices
	// isolation says what isolated parts have as roots, in place of train; nil: parts are not isolated.
	isolation *isolation
	shift     []int // with local roots: which steps have one root more than others differs from part to part

	mu       sync.Mutex
	assigner *assigner // of roots whose part depends on their homes; nil: parts have spans of the lists
	models   []int32   // with Hop, by root of a step: its model; scratch
	merging  merging
	orders   []epochOrder // of as many epochs as may be sampled at the same time, by turns
}

// mostOrders is how many epochs ahead orders are kept for.
const mostOrders = 4

// epochOrder is the order of each list in an epoch.
type epochOrder struct {
	epoch  int // -1: none yet
	merged int // time steps that are dropped
	lists  [][]graph.NodeID
	ends   []int   // with an assigner: by step, part and unit, where its roots end among the step's
	steps  []int32 // with Hop: by step and unit, its time step
}

func newRoots(p *learn.Problem, o *Options) *roots {
	r := &roots{seed: o.Model.Seed, batch: o.Sampling.BatchSize, local: o.Sampling.Local && len(o.Devices) > 1, parts: len(o.Devices), units: 1}
	r.train = make([][]graph.NodeID, 1)
	if r.local {
		r.train = make([][]graph.NodeID, r.parts)
	}
	if r.isolation = newIsolation(p, o); r.isolation != nil {
		r.local, r.train = true, make([][]graph.NodeID, r.isolation.Pieces.Chunks())
		for _, n := range r.isolation.Course.Training {
			r.total += n
		}
		if r.isolation.Targets == chunks.Both {
			r.total *= 2
		}
	}
	for v := range graph.NodeID(p.Vertices()) {
		if r.isolation == nil && p.Trains(v) {
			r.total++
			list := 0
			if r.local {
				list = int(o.Part[v])
			}
			r.train[list] = append(r.train[list], v)
		}
	}
	r.steps = max(1, (r.total+r.batch-1)/r.batch)
	if s := r.isolation; s != nil {
		r.steps = s.steps[len(s.steps)-1]
	}
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
	r.merging = newMerging(&o.Sampling, r.parts)
	if o.Sampling.Place != Batch && !r.local && r.parts > 1 {
		r.assigner = newAssigner(p.Graph, o.Sampling.Fanout[0], o.Part, r.parts, o.Shares)
		if o.Sampling.Place == Hop {
			r.units = r.parts
		}
	}
	r.orders = make([]epochOrder, 2+min(o.ahead(r.steps)/r.steps, mostOrders))
	for k := range r.orders {
		r.orders[k].epoch = -1
	}
	return r
}

// span returns which elements of the list of a part are its roots of a step of an epoch, and which list that is, where there is no assigner.
func (r *roots) span(epoch, batch, part int) (list, lo, hi int) {
	if r.isolation != nil {
		return r.isolation.span(epoch, batch, part)
	}
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

// count returns how many roots a step of an epoch has over all parts.
func (r *roots) count(epoch, batch int) (n int) {
	if !r.local {
		lo, hi := r.batchOf(batch)
		return hi - lo
	}
	for part := range r.parts {
		_, lo, hi := r.span(epoch, batch, part)
		n += hi - lo
	}
	return n
}

// all yields the roots of step t of the run, over all parts.
func (r *roots) all(t int) iter.Seq[graph.NodeID] {
	return func(yield func(graph.NodeID) bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		o := r.order(t / r.steps)
		each := func(list []graph.NodeID) bool {
			return !slices.ContainsFunc(list, func(v graph.NodeID) bool { return !yield(v) })
		}
		if !r.local {
			lo, hi := r.batchOf(t % r.steps)
			each(o.lists[0][lo:hi])
			return
		}
		for part := range r.parts {
			if list, lo, hi := r.span(o.epoch, t%r.steps, part); lo < hi && !each(o.lists[list][lo:hi]) {
				return
			}
		}
	}
}

// of writes the roots of a unit of a part in step t of the run to into, and returns them.
func (r *roots) of(t, part, unit int, into []graph.NodeID) []graph.NodeID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from(r.order(t/r.steps), t%r.steps, part, unit, into)
}

// merged is of, if the epoch dropped so many time steps.
func (r *roots) merged(t, part, unit, merged int, into []graph.NodeID) []graph.NodeID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from(r.orderOf(t/r.steps, merged), t%r.steps, part, unit, into)
}

// from is of in an order.
func (r *roots) from(o *epochOrder, batch, part, unit int, into []graph.NodeID) []graph.NodeID {
	if r.assigner == nil {
		list, lo, hi := r.span(o.epoch, batch, part)
		if lo == hi {
			return into[:0]
		}
		return append(into[:0], o.lists[list][lo:hi]...)
	}
	first, _ := r.batchOf(batch)
	lo, hi := r.piece(o, batch, part, unit)
	return append(into[:0], o.lists[0][first+lo:first+hi]...)
}

// piece returns which of a step's roots are those of a unit.
func (r *roots) piece(o *epochOrder, batch, part, unit int) (lo, hi int) {
	all := r.parts * r.units
	ends, k := o.ends[batch*all:][:all], part*r.units+unit
	if k > 0 {
		lo = ends[k-1]
	}
	return lo, ends[k]
}

// timeStep returns the time step of a unit in step t, or dropped.
func (r *roots) timeStep(t, unit int) int {
	if r.units == 1 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.order(t / r.steps).steps[t%r.steps*r.units+unit])
}

// most returns how many roots a unit of a part has, at most: with Hop in the first epoch, if that dropped some time steps.
func (r *roots) most(part, unit, merged int) (n int) {
	if r.units > 1 {
		r.mu.Lock()
		defer r.mu.Unlock()
		o := r.orderOf(0, merged)
		for b := range r.steps {
			lo, hi := r.piece(o, b, part, unit)
			n = max(n, hi-lo)
		}
		return n
	}
	if r.assigner != nil {
		return r.assigner.limit(r.count(0, 0), part)
	}
	if r.isolation != nil {
		return r.isolation.most(part)
	}
	for b := range r.steps {
		_, lo, hi := r.span(0, b, part)
		n = max(n, hi-lo)
	}
	return n
}

// merge has epochs drop the time steps that m says, from the next one on.
func (r *roots) merge(m merging) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.merging = m
}

func (r *roots) order(epoch int) *epochOrder { return r.orderOf(epoch, r.merging.of(epoch)) }

// orderOf returns the order of an epoch that drops some time steps.
func (r *roots) orderOf(epoch, merged int) *epochOrder {
	o := &r.orders[epoch%len(r.orders)]
	if o.epoch == epoch && o.merged == merged {
		return o
	}
	o.epoch, o.merged = epoch, merged
	o.lists = slices.Grow(o.lists[:0], len(r.train))[:len(r.train)]
	for i, train := range r.train {
		if r.isolation != nil {
			o.lists[i] = r.isolation.order(i, epoch, r.seed, o.lists[i])
			continue
		}
		o.lists[i] = sample.Order(train, r.seed, uint32(epoch), o.lists[i])
	}
	if r.assigner != nil {
		r.assign(o)
	}
	return o
}

// assign groups the roots of each step by the units that compute them.
func (r *roots) assign(o *epochOrder) {
	all := r.parts * r.units
	o.ends = slices.Grow(o.ends[:0], r.steps*all)[:r.steps*all]
	if r.units > 1 {
		o.steps = slices.Grow(o.steps[:0], r.steps*r.units)[:r.steps*r.units]
	}
	for b := range r.steps {
		lo, hi := r.batchOf(b)
		list, ends := o.lists[0][lo:hi], o.ends[b*all:][:all]
		if r.units == 1 {
			r.assigner.atHome(list, ends)
			continue
		}
		r.models = r.models[:0]
		for d := range r.parts {
			for range r.cut(hi-lo, d+1) - r.cut(hi-lo, d) {
				r.models = append(r.models, int32(d))
			}
		}
		r.assigner.byModel(list, r.models, o.merged, ends, o.steps[b*r.units:][:r.units])
	}
}

func (r *roots) bytes() gpu.Bytes {
	n := 4 * gpu.Bytes((1+len(r.orders))*r.total)
	if r.assigner != nil {
		n += 8 * gpu.Bytes(len(r.orders)*r.steps*r.parts*r.units)
	}
	return n
}
