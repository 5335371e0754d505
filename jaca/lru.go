package jaca

// lru evicts the row that has not been read for longest. Slots in use form a ring through next and prev, from the one read
// last to the one not read for longest; place slots is the ring's end.
type lru struct {
	table
	next, prev []int32
}

func newLRU(t table) *lru {
	c := &lru{table: t, next: newLinks(t.slots + 1), prev: newLinks(t.slots + 1)}
	end := int32(t.slots)
	c.next[end], c.prev[end] = end, end
	return c
}

func (c *lru) Read(row int32) (int32, bool) {
	slot, end := c.slotOf[row], int32(c.slots)
	held := slot >= 0
	switch {
	case c.slots == 0:
		return -1, false
	case held:
		c.unlink(slot)
	case !c.full():
		slot = c.append(row)
	default:
		slot = c.prev[end]
		c.unlink(slot)
		c.replace(slot, row)
	}
	c.next[slot], c.prev[slot] = c.next[end], end
	c.prev[c.next[end]] = slot
	c.next[end] = slot
	return slot, held
}

func (c *lru) unlink(slot int32) {
	c.next[c.prev[slot]] = c.next[slot]
	c.prev[c.next[slot]] = c.prev[slot]
}
