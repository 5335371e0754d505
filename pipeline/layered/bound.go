package layered

import (
	"capgnn/gpu"
	"capgnn/internal/learn"
)

// Bound is what an Evaluator takes.
type Bound struct {
	Devices []gpu.Bytes // of the device of each part, weights among it
	Hubs    []int       // by part: the vertex whose in-neighbours take more than Options.ChunkBytes, -1 without
	Scratch []gpu.Bytes // of the process, by part: what its device takes of it while it computes
	Tables  gpu.Bytes   // of the process: tables of layers that Options let lie in memory
	Sums    gpu.Bytes   // the same: ÂX
	Heap    gpu.Bytes   // of the process's heap: the blocks of chunks, and rows on their way from a device
}

// wordBytes is the size of a word.
const wordBytes = 24

// Bounds returns what New takes, and what is made with it.
func Bounds(p *learn.Problem, o Options) (Bound, error) {
	e, parts, err := plan(p, o)
	if err != nil {
		return Bound{}, err
	}
	all := o.Tables != nil
	b := Bound{Tables: e.inMemory(all, e.tableBytes(0)) + e.inMemory(all, e.tableBytes(1)),
		Heap: e.sums.bytes() + gpu.Bytes(len(e.need.level)) + e.need.taken}
	if o.Precomputed {
		b.Sums = e.inMemory(all, e.sumBytes())
	}
	for _, x := range e.places {
		b.Heap += x.bytes()
	}
	for i := range parts {
		d := &parts[i]
		b.Devices, b.Hubs = append(b.Devices, d.chunks+e.weightBytes()), append(b.Hubs, d.vertex)
		b.Scratch = append(b.Scratch, 0)
		if s, ok := o.Devices[i].(gpu.Scratcher); ok && len(d.inner) > 0 {
			var most size // of any layer
			for k := range d.divisions {
				most = most.most(d.divisions[k].most)
			}
			b.Scratch[i] = o.Model.Scratch(s, p.Features.Sparse() && !o.Dense, func(int) (int, int64) {
				return max(most.rows, most.sources), int64(most.entries)
			})
		}
		if len(d.inner) > 0 {
			b.Heap += d.bytes() + gpu.Bytes(d.slots)*e.slotBytes(d, direct(o.Devices[i])) +
				gpu.Bytes((p.Vertices()+63)/64)*wordBytes
		}
	}
	return b, nil
}

// inMemory is the size of a table that does not go to a file for want of room; none does where the caller makes
// them (all).
func (e *Evaluator) inMemory(all bool, size int64) gpu.Bytes {
	if all || within(hostRoom(e.o.Devices), size) {
		return gpu.Bytes(size)
	}
	return 0
}

// grown is the most that a list of so many bytes takes which was appended to element by element.
func grown(n gpu.Bytes) gpu.Bytes { return n*11/8 + 1<<10 }

// slotBytes is what a slot of a part takes of the heap: its arrays become as large as they are in any chunk of any
// task.
func (e *Evaluator) slotBytes(d *partition, direct bool) gpu.Bytes {
	var host input // of what lies there as it does on the device
	var ids, at, numbers, ratios, out gpu.Bytes
	for i := range e.tasks {
		t, most := &e.tasks[i], d.divisions[i].most
		rows, sources := gpu.Bytes(most.rows), gpu.Bytes(most.sources)
		var reads, writes *places
		switch {
		case t.given:
			reads = e.sums
		case t.layer > 0:
			reads = e.places[t.layer-1]
		}
		switch {
		case t.layer < 0:
			writes = e.sums
		case t.layer < len(e.places):
			writes = e.places[t.layer]
		}
		if ids = max(ids, 4*sources); reads != nil && reads.row != nil {
			at = max(at, 4*sources)
		}
		if e.need.scaled(t.layer) {
			ratios = max(ratios, 4*rows)
		}
		if writes == nil || len(d.rows[i]) > 0 && !writes.joined(d.rows[i]) {
			out = max(out, rows*gpu.Bytes(t.out)*gpu.Bytes(t.outType.Size()))
		}
		in := t.input(most)
		if in[inAX] = 0; t.given {
			numbers, in[inIndices] = max(numbers, in[inIndices]), 0
		}
		if !t.dense || direct {
			in[inX] = 0
		}
		host = host.most(in)
	}
	host[inRowScale], host[inColScale] = grown(host[inRowScale]), grown(host[inColScale])
	return grown(ids) + at + numbers + ratios + host.total() + out
}
