package jaca

import (
	"cmp"
	"slices"
)

// numberLocal makes the tables of one reader.
func (t *Table) numberLocal(part int, class *classed, slotOf []int32) Reader {
	h, rowOf := &t.Halos[part], t.ix.rowOf[part]
	owners := len(h.Count)
	n := len(h.IDs)
	r := Reader{Place: newLinks(n), Global: newLinks(n), Class: class.halo[part],
		LocalAt: make([]int, t.Classes()*(owners+1)+1), TransientAt: make([]int, owners+2)}
	source := func(owner, k int) int {
		if r.Global[k] >= 0 {
			return owners
		}
		return owner
	}
	local := t.slots.local[part]
	h.each(func(owner, k int) {
		r.Global[k] = slotOf[rowOf[k]]
		if g := source(owner, k); local[k] {
			r.LocalAt[int(r.Class[k])*(owners+1)+g+1]++
		} else {
			r.TransientAt[g+1]++
		}
	})
	nextLocal, nextTransient := prefix(r.LocalAt), prefix(r.TransientAt)
	r.Local = make([]int32, r.LocalAt[len(r.LocalAt)-1])
	r.Transient = make([]int32, r.TransientAt[len(r.TransientAt)-1])
	h.each(func(owner, k int) {
		list, next, g := r.Transient, nextTransient, source(owner, k)
		if local[k] {
			list, next, g = r.Local, nextLocal, int(r.Class[k])*(owners+1)+g
		}
		list[next[g]] = int32(k)
		next[g]++
	})
	byGlobal := func(list []int32) {
		slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(r.Global[a], r.Global[b]) })
	}
	for c := range t.Classes() {
		k := c*(owners+1) + owners
		byGlobal(r.Local[r.LocalAt[k]:r.LocalAt[k+1]])
	}
	byGlobal(r.Transient[r.TransientAt[owners]:])
	for s, k := range r.Local {
		r.Place[k] = int32(s)
	}
	for s, k := range r.Transient {
		r.Place[k] = int32(len(r.Local) + s)
	}
	return r
}

// ClassSlots returns the local slots of a class: [lo, hi).
func (r *Reader) ClassSlots(class int) (lo, hi int) {
	sources := len(r.TransientAt) - 1
	return r.LocalAt[class*sources], r.LocalAt[(class+1)*sources]
}

// Uneven returns the largest difference between the sizes of two classes of local slots in any part. It is at most 1 where each part
// has enough local slots for rows without a global slot, whose classes are free.
func (t *Table) Uneven() int {
	worst := 0
	for i := range t.Readers {
		least, most := len(t.Readers[i].Local), 0
		for c := range t.Period {
			lo, hi := t.Readers[i].ClassSlots(c)
			least, most = min(least, hi-lo), max(most, hi-lo)
		}
		worst = max(worst, most-least)
	}
	return worst
}
