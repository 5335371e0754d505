package minibatch

import (
	"slices"

	"capgnn/gpu"
	"capgnn/internal/layered"
	"capgnn/minibatch/sample"
)

// host returns what the process takes beside the problem and the memory of CPU devices, and how much of it is not of the heap.
func (x *sizing) host(r *roots, exact layered.Bound) (all []Use, mapped gpu.Bytes) {
	steps, staged := x.ahead()
	heap := []Use{steps, {Name: "samplers", Bound: x.samplers()},
		{Name: "degrees and orders of roots", Bound: 4*gpu.Bytes(len(x.d.scaling.Row)+len(x.d.scaling.Col)) + r.bytes()},
		{Name: "blocks of evaluation", Bound: exact.Heap}, {Name: "weights", Bound: 16 * gpu.Bytes(len(x.weights.Flat))}}
	heap = append(heap, Use{Name: "places of resident rows", Bound: x.places()})
	if r.units > 1 { // where devices do not reach each other
		own := len(x.o.ownDevices()) // others may send to each of them
		heap = append(heap, Use{Name: "carried gradients", Bound: 4 * gpu.Bytes(own*(1+r.parts-own)*len(x.weights.Flat))})
	}
	if s := r.isolation; s != nil {
		heap = append(heap, Use{Name: "pairs of chunks", Bound: s.bytes(x.o.own())})
	}
	if n := x.messages(); n > 0 {
		heap = append(heap, Use{Name: "messages between ranks", Bound: n})
	}
	garbage := Use{Name: "not yet collected", Bound: max(leastGarbage, Bound(heap))}
	tables := Use{Name: "tables of rows", Bound: exact.Sums + max(0, exact.Tables-x.left)}
	if r.isolation != nil && x.d.sums && x.o.several() { // ÂX of the whole graph
		tables.Bound += 4 * gpu.Bytes(x.p.Vertices()) * gpu.Bytes(x.p.Features.Cols)
	}
	all = append(heap, garbage, Use{Name: "products of CPU devices", Bound: x.scratch(exact)}, staged, tables)
	return slices.DeleteFunc(all, func(u Use) bool { return u.Bound == 0 }), staged.Bound + tables.Bound
}

// messages returns what this process keeps for what ranks send each other: requests, answers, gradients and weights.
func (x *sizing) messages() (n gpu.Bytes) {
	if !x.o.several() {
		return 0
	}
	for part, dev := range x.o.Devices {
		request, answer := gpu.Bytes(requestHeader+4*mostAsked), gpu.Bytes(answerHeader+x.d.answerBytes(part, &x.o.Model))
		if dev == nil {
			n += request + answer
		} else {
			n += gpu.Bytes(x.o.Ranks.Ranks()-1) * (requestsAhead*request + answer)
		}
	}
	return n + 2*gpu.Bytes(x.division.Bytes())
}

// leastGarbage is how far the heap grows before it is collected, and what the runtime takes besides; of a larger heap it is as much as is in use, but for what
// products take: they keep it, and debug.SetMemoryLimit is set where memory is short.
const leastGarbage = 8 << 20

// ahead returns what steps that are sampled ahead take: of the heap, and beside it, as they are uploaded.
func (x *sizing) ahead() (heap, staged Use) {
	heap.Name, staged.Name = "steps sampled ahead", "staged steps"
	for part, dev := range x.o.Devices {
		if dev == nil {
			continue
		}
		_, n := x.d.ring(x.o, part)
		g, slots := x.d.stageOf(x.p, x.o, part), gpu.Bytes(n)
		for unit := range x.d.units[part] {
			seen := &x.d.units[part][unit]
			ample := seen.ample(x.p.Vertices(), x.d.roots.units > 1)
			heap.add(slots*stackBytes(&ample), slots*(stackBytes(&ample)-stackBytes(seen)))
			most := g.sampledBytes(&ample)
			staged.add(slots*most, slots*(most-g.sampledBytes(seen)))
			if g.resident != nil {
				heap.add(slots*4*gpu.Bytes(ample.missing)*5/4, slots*4*gpu.Bytes(ample.missing-seen.missing)*5/4)
			}
			if x.d.roots.units > 1 { // groups
				heap.add(slots*4*gpu.Bytes(ample.ids), slots*4*gpu.Bytes(ample.ids-seen.ids))
			}
		}
		if x.d.roots.units > 1 {
			heap.add(slots*gpu.Bytes(x.p.Vertices()/8), 0)
		}
	}
	return heap, staged
}

// places returns what it takes to know which rows devices keep.
func (x *sizing) places() (n gpu.Bytes) {
	for _, r := range x.d.residents {
		if r != nil {
			n += 4 * gpu.Bytes(len(r.row))
		}
	}
	return n
}

func (u *Use) add(bound, slack gpu.Bytes) { u.Bound, u.Slack = u.Bound+bound, u.Slack+slack }

// sampledBytes returns what a unit of an extent takes of its slot for what is uploaded.
func (g *stage) sampledBytes(e *extent) gpu.Bytes {
	var l layout
	g.lay(&l, e, nil)
	return l.staged
}

// stackBytes is what the stack of a unit in a slot takes at most, as a sampler leaves it: lists have an eighth more room than they need, those that are appended to more.
func stackBytes(e *extent) gpu.Bytes {
	n := 4 * (e.roots + e.ids) * 9 / 8
	for _, h := range e.hops {
		n += 8*(h.rows+2)*9/8 + 4*h.entries*11/8 + 1<<10
		if h.scaled {
			n += 4 * h.rows * 9 / 8
		}
		if h.weighed {
			n += 4 * h.cols * 9 / 8
		}
	}
	return gpu.Bytes(n)
}

// caches returns what it takes to fetch rows of other parts, and to keep some: beside the heap, but for what policies know of steps and vertices. The second
// result is how much of it is beside the heap.
func (x *sizing) caches(steps int) ([]Use, gpu.Bytes) {
	if !x.o.fetches() {
		return nil, 0
	}
	area, cache, ahead, n := Use{Name: "rows of other parts, on their way"}, Use{Name: "row caches"}, Use{Name: "steps that caches look ahead for"}, gpu.Bytes(x.p.Vertices())
	for part, slots := range x.d.slots {
		if x.o.Devices[part] == nil {
			continue
		}
		area.Bound += x.d.areas[part] * gpu.Bytes(x.turns()*(x.o.Sampling.Prefetch+1))
		if slots > 0 {
			cache.Bound += gpu.Bytes(slots)*gpu.Bytes(x.d.row+2*idBytes) + idBytes*n
		}
		if looks := x.o.Sampling.Fetch.Reach(steps*x.turns(), slots, remoteOf(x.o, part)); looks > 0 {
			step := gpu.Bytes(0)
			for unit := range x.d.units[part] {
				ample := x.d.units[part][unit].ample(x.p.Vertices(), x.d.roots.units > 1)
				step += stackBytes(&ample)
			}
			kept := gpu.Bytes(looks/x.turns()+2) * step // also of the turn that is decided, and of one that is drawn
			kept = min(kept, mostKept/gpu.Bytes(len(x.o.Devices)))
			ahead.add(kept, kept)
		}
	}
	if ahead.Bound > 0 {
		ahead.add(x.samplers()/gpu.Bytes(x.o.Sampling.Samplers), 0)
	}
	return slices.DeleteFunc([]Use{area, cache, ahead}, func(u Use) bool { return u.Bound == 0 }), area.Bound + cache.Bound
}

// turns returns how often a part fetches rows in a step.
func (x *sizing) turns() int {
	if x.o.Sampling.NoGather {
		return x.d.roots.units
	}
	return 1
}

// samplers returns what all samplers take.
func (x *sizing) samplers() (n gpu.Bytes) {
	for part, dev := range x.o.Devices {
		if dev == nil {
			continue
		}
		e, entries := &x.d.extents[part], 0
		for _, h := range e.hops {
			entries = max(entries, h.entries)
		}
		n += gpu.Bytes(x.o.Sampling.Samplers) * gpu.Bytes(sample.Bytes(x.d.topology(x.p), x.d.rules, e.ids, entries, e.candidates))
	}
	return n
}

// scratch returns what devices take of the process while they compute.
func (x *sizing) scratch(exact layered.Bound) (n gpu.Bytes) {
	most := map[gpu.Device]gpu.Bytes{}
	for part, dev := range x.o.Devices {
		s, ok := dev.(gpu.Scratcher)
		if !ok {
			continue
		}
		e := &x.d.extents[part]
		layers := e.layers(x.d.blockUses)
		most[dev] = max(most[dev], exact.Scratch[part], x.o.Model.Scratch(s, x.d.sparse, func(l int) (rows int, entries int64) {
			if h := x.d.blockUses[l].hop; h >= 0 {
				entries = int64(e.hops[h].entries)
			}
			return layers[l].Src, entries
		}))
	}
	for _, b := range most {
		n += b
	}
	return n
}
