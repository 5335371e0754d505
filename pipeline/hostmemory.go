package pipeline

import (
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/memory"
	"capgnn/pipeline/layered"
)

// ProcessMemory adds the host memory of a process without the problem, its devices and, unless parts take turns,
// the temporary memory of placing parts. Tables count if they are in memory, not in files. real are the devices that
// those of the trainer, one for each worker, stand for.
func (t *Trainer) ProcessMemory(m *memory.Plan, real []gpu.Device) error {
	s, before := t.isolation, m.Bound
	weights := 16 * gpu.Bytes(len(t.Weights.Flat))
	if !t.o.phased() {
		cache, staging := t.HostMemory()
		m.Add("weights", weights, 0)
		m.Add("products of CPU devices", t.scratch(real), 0)
		m.Map("cache, and rows on their way", cache+staging, 0)
		if _, copies := t.Streams(); t.o.Stream {
			m.Map("what is not on devices", copies, 0)
		}
		m.Uncollected(weights)
		if s != nil {
			m.Add("pairs of two phases", t.hostPairs(), 0)
		}
		if s != nil && t.o.Model.CanPrecompute() {
			m.Add("aggregated features", 4*gpu.Bytes(len(s.Train))*gpu.Bytes(t.o.Model.In), 0)
		}
		return nil
	}
	n := gpu.Bytes(len(s.Train))
	numbers := 4 * gpu.Bytes(len(s.Train)+len(s.scale.Row)+len(s.scale.Col)+2*len(s.cut.LocalOf))
	m.Add("numbers by vertex", numbers+4*n+n+8*gpu.Bytes(len(s.between)*len(s.between)), 0)
	m.Add("pairs of two phases", t.hostPairs(), 0)
	m.Add("rows on their way to devices", 2*uploadBytes*gpu.Bytes(len(t.workers)), 0)
	m.Add("weights", weights, 0)
	var tables gpu.Bytes
	if t.exact != nil {
		exact, err := layered.Bounds(s.p, t.layered(false))
		if err != nil {
			return err
		}
		tables = exact.Tables + exact.Sums
		m.Add("blocks of evaluation", exact.Heap, 0)
	}
	m.Uncollected(m.Bound - before)
	m.Add("products of CPU devices", t.scratch(real), 0)
	m.Map("tables of rows", tables, 0)
	return nil
}

// hostPairs returns what pairs take on the host.
func (t *Trainer) hostPairs() (n gpu.Bytes) {
	for _, w := range t.workers { // one is put on the device while the next is made
		n += 2 * w.hold.most.hostBytes(t.isolation)
	}
	return n
}

// hostBytes is what the largest pair takes on the host: edges both ways, what they and rows weigh, how much of
// their neighbourhoods rows see, and what layer 0 reads of vertices elsewhere.
func (c *capacity) hostBytes(s *isolation) gpu.Bytes {
	ways, values := gpu.Bytes(2), gpu.Bytes(0)
	if s.cut.Symmetric {
		ways = 1
	}
	if s.valued() {
		values = 2 * 4 * gpu.Bytes(c.entries)
	}
	rows, entries := gpu.Bytes(c.rows+1), gpu.Bytes(c.entries)
	const perRow = 4*8 + 8 // ids, places, scales, loops, degrees in the pair and in the graph; ends of rows
	n := ways*(8*rows+4*entries) + values + perRow*rows + 8*gpu.Bytes(c.loss)
	if s.replicates {
		n += 8*(rows+gpu.Bytes(c.halo+1)) + 8*gpu.Bytes(c.haloEdges) + 8*gpu.Bytes(c.halo) + 4*gpu.Bytes(len(s.Train))
		if s.p.Weighted() {
			n += 2 * 4 * gpu.Bytes(c.entries+c.haloEdges)
		}
	}
	return n + 2*8*gpu.Bytes(c.stored+c.haloStored)
}

// scratch returns what CPU devices take of the process while they compute.
func (t *Trainer) scratch(real []gpu.Device) gpu.Bytes {
	sparse := t.p.Features.Sparse() && t.plan.Input != gnn.Precomputed
	return memory.Scratch(real, func(i int, dev gpu.Scratcher) gpu.Bytes {
		return t.o.Model.Scratch(dev, sparse, func(int) (rows int, entries int64) {
			if h := t.workers[i].hold; h != nil {
				return h.most.rows + h.most.halo, int64(h.most.entries) + int64(h.most.haloEdges)
			}
			p := t.workers[i].part
			return len(p.Inner) + max(len(p.In.IDs), len(p.Out.IDs)), p.In.Inner.Edges()
		})
	})
}
