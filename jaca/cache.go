package jaca

// Cache tracks which rows have a slot while rows are read one after the other. Row numbers are the caller's: rows of an
// exchange for a global cache, halo indices for a local one.
type Cache interface {
	// Read looks up a row: held reports whether it had a slot, slot is its slot from now on, −1 if none. A cache of a
	// dynamic policy gives every row that is read a slot, if it has slots at all.
	Read(row int32) (slot int32, held bool)
}

// NewCache returns an empty cache of a dynamic policy for rows below rows. Static policies have none: their plan says which rows have slots.
func NewCache(p Policy, rows, slots int) Cache {
	slots = min(slots, rows)
	t := newTable(rows, slots)
	switch p {
	case FIFO:
		return &fifo{table: t}
	case LRU:
		return newLRU(t)
	}
	panic("jaca: policy " + string(p) + " has no dynamic cache")
}

// pinned is the cache of a static policy: slots by row, −1 = none.
type pinned []int32

func (c pinned) Read(row int32) (int32, bool) { return c[row], c[row] >= 0 }

// table maps rows to slots and back.
type table struct {
	slotOf []int32 // by row, −1 = none
	rowOf  []int32 // by slot, as far as slots are in use
	slots  int
}

func newTable(rows, slots int) table {
	return table{slotOf: newLinks(rows), rowOf: make([]int32, 0, slots), slots: slots}
}

// newLinks returns n times −1.
func newLinks(n int) []int32 {
	l := make([]int32, n)
	for i := range l {
		l[i] = -1
	}
	return l
}

// full reports whether a row can get a slot only from another.
func (t *table) full() bool { return len(t.rowOf) == t.slots }

// append gives a row the next unused slot.
func (t *table) append(row int32) int32 {
	slot := int32(len(t.rowOf))
	t.rowOf, t.slotOf[row] = append(t.rowOf, row), slot
	return slot
}

// replace gives a slot to another row.
func (t *table) replace(slot, row int32) {
	t.slotOf[t.rowOf[slot]] = -1
	t.rowOf[slot], t.slotOf[row] = row, slot
}
