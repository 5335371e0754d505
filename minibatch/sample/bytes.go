package sample

import "capgnn/graph"

// rowBytes is the size of a row.
const rowBytes = 5 * 8

func (t *Topology) hashed() bool { return t.Memory > 0 && 4*int64(t.Graph.Rows()) > t.Memory/8 }

// Bytes returns what a Sampler takes at most, as long as stacks have no more than so many ids, a hop no more than so many entries, and layers are drawn among no more than so many
// candidates. Topology and Rules are those that New is given.
func Bytes(t Topology, r Rules, ids, entries, candidates int) int64 {
	n, kept := int64(t.Graph.Rows()), 0
	for _, k := range r.Fanout {
		kept = max(kept, min(k, entries))
	}
	if r.Ladies > 0 { // where there are few candidates, all are kept
		kept = entries
	}
	ids += candidates
	held := int64(min(entries, chunk*kept))                                                    // entries of a chunk: at, list, cols and open
	b := int64(ids)*4*11/8 + 1<<10 + held*(8+4+4+4)*9/8 + chunk*rowBytes + 4*ahead*chunk + n/8 // bits of a long row
	if r.Ladies > 0 {                                                                          // p, arrive, order and number; cols and open of a row
		b, held = b+int64(candidates)*(8+8+8+4)*3/2+int64(ids)*(4+4)*9/8, max(held, int64(ids))
	}
	if t.hashed() {
		b += 4 << cells(ids+int(held))
	} else {
		b += 4 * n
	}
	if r.AddLoops || t.Loops != graph.LoopsKept {
		b += n / 4
	}
	return b
}
