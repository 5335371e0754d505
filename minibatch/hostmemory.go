package minibatch

import (
	"capgnn/gpu"
	"capgnn/internal/memory"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/layered"
)

// host adds what the process takes beside the problem and the memory of CPU devices.
func (x *sizing) host(m *memory.Plan, r *roots, exact layered.Bound) {
	steps, staged := x.ahead()
	m.Add("steps sampled ahead", steps.Bound, steps.Slack)
	m.Add("samplers", x.samplers(), 0)
	m.Add("degrees and orders of roots", 4*gpu.Bytes(len(x.d.scaling.Row)+len(x.d.scaling.Col))+r.bytes(), 0)
	m.Add("blocks of evaluation", exact.Heap, 0)
	m.Add("weights", 16*gpu.Bytes(len(x.weights.Flat)), 0)
	m.Add("places of resident rows", x.places(), 0)
	if r.units > 1 { // where devices do not reach each other
		own := len(x.o.ownDevices()) // others may send to each of them
		m.Add("carried gradients", 4*gpu.Bytes(own*(1+r.parts-own)*len(x.weights.Flat)), 0)
	}
	tables := exact.Sums + max(0, exact.Tables-x.left)
	if s := r.isolation; s != nil {
		m.Add("pairs of chunks", s.bytes(x.o.own()), 0)
		if x.d.sums && x.o.Several() { // ÂX of the whole graph
			tables += 4 * gpu.Bytes(x.p.Vertices()) * gpu.Bytes(x.p.Features.Cols)
		}
	}
	m.Add("messages between ranks", x.messages(), 0)
	m.Uncollected(m.Bound) // products keep what they take
	m.Add("products of CPU devices", x.scratch(exact), 0)
	m.Map("staged steps", staged.Bound, staged.Slack)
	m.Map("tables of rows", tables, 0)
}

// messages returns what this process keeps for what ranks send each other: requests, answers, gradients and weights.
func (x *sizing) messages() (n gpu.Bytes) {
	if !x.o.Several() {
		return 0
	}
	for part, dev := range x.o.Devices {
		request := gpu.Bytes(requestHeader + 4*mostAsked)
		answer := gpu.Bytes(answerHeader + x.d.answerBytes(part, &x.o.Model))
		if dev == nil {
			n += request + answer
		} else {
			n += gpu.Bytes(x.o.Ranks.Ranks()-1) * (requestsAhead*request + answer)
		}
	}
	return n + 2*gpu.Bytes(x.division.Bytes())
}

// ahead returns what steps that are sampled ahead take: of the heap, and beside it, as they are uploaded.
func (x *sizing) ahead() (heap, staged memory.Use) {
	for part, dev := range x.o.Devices {
		if dev == nil {
			continue
		}
		_, n := x.d.ring(x.o, part)
		g, slots := x.d.stageOf(x.p, x.o, part), gpu.Bytes(n)
		for unit := range x.d.units[part] {
			seen := &x.d.units[part][unit]
			ample := seen.ample(x.p.Vertices(), x.d.roots.units > 1)
			heap.More(slots*stackBytes(&ample), slots*(stackBytes(&ample)-stackBytes(seen)))
			most := g.sampledBytes(&ample)
			staged.More(slots*most, slots*(most-g.sampledBytes(seen)))
			if g.resident != nil {
				heap.More(slots*4*gpu.Bytes(ample.missing)*5/4, slots*4*gpu.Bytes(ample.missing-seen.missing)*5/4)
			}
			if x.d.roots.units > 1 { // groups
				heap.More(slots*4*gpu.Bytes(ample.ids), slots*4*gpu.Bytes(ample.ids-seen.ids))
			}
		}
		if x.d.roots.units > 1 {
			heap.More(slots*gpu.Bytes(x.p.Vertices()/8), 0)
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

// sampledBytes returns what a unit of an extent takes of its slot for what is uploaded.
func (g *stage) sampledBytes(e *extent) gpu.Bytes {
	var l layout
	g.lay(&l, e, nil)
	return l.staged
}

// stackBytes is what the stack of a unit in a slot takes at most, as a sampler leaves it: lists have an eighth more
// room than they need, those that are appended to more.
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

// caches adds what it takes to fetch rows of other parts, and to keep some: beside the heap, but for what policies
// know of steps and vertices.
func (x *sizing) caches(m *memory.Plan, steps int) {
	if !x.o.fetches() {
		return
	}
	var area, cache gpu.Bytes
	var ahead memory.Use
	for part, slots := range x.d.slots {
		if x.o.Devices[part] == nil {
			continue
		}
		area += x.d.areas[part] * gpu.Bytes(x.turns()*(x.o.Sampling.Prefetch+1))
		if slots > 0 {
			cache += gpu.Bytes(slots)*gpu.Bytes(x.d.row+2*idBytes) + idBytes*gpu.Bytes(x.p.Vertices())
		}
		if looks := x.o.Sampling.Fetch.Reach(steps*x.turns(), slots, remoteOf(x.o, part)); looks > 0 {
			step := gpu.Bytes(0)
			for unit := range x.d.units[part] {
				ample := x.d.units[part][unit].ample(x.p.Vertices(), x.d.roots.units > 1)
				step += stackBytes(&ample)
			}
			kept := gpu.Bytes(looks/x.turns()+2) * step // also of the turn that is decided, and of one that is drawn
			kept = min(kept, mostKept/gpu.Bytes(len(x.o.Devices)))
			ahead.More(kept, kept)
		}
	}
	if ahead.Bound > 0 {
		ahead.More(x.samplers()/gpu.Bytes(x.o.Sampling.Samplers), 0)
	}
	m.Map("rows of other parts, on their way", area, 0)
	m.Map("row caches", cache, 0)
	m.Add("steps that caches look ahead for", ahead.Bound, ahead.Slack)
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
		one := gpu.Bytes(sample.Bytes(x.d.topology(x.p), x.d.rules, e.ids, entries, e.candidates))
		n += gpu.Bytes(x.o.Sampling.Samplers) * one
	}
	return n
}

// scratch returns what devices take of the process while they compute.
func (x *sizing) scratch(exact layered.Bound) gpu.Bytes {
	return memory.Scratch(x.o.Devices, func(part int, dev gpu.Scratcher) gpu.Bytes {
		ample, _ := x.layout(part)
		return max(exact.Scratch[part], x.o.Model.Scratch(dev, x.d.sparse, func(l int) (rows int, entries int64) {
			return ample.layers[l].Src, ample.layers[l].Forward.Inner.Entries
		}))
	})
}
