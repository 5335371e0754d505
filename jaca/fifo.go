package jaca

// fifo evicts the row that got its slot first. Slots are given in turn, so that is the slot after the last given one.
type fifo struct {
	table
	oldest int32 // slot
}

func (c *fifo) Read(row int32) (int32, bool) {
	switch slot := c.slotOf[row]; {
	case slot >= 0:
		return slot, true
	case c.slots == 0:
		return -1, false
	case !c.full():
		return c.append(row), false
	}
	slot := c.oldest
	c.replace(slot, row)
	c.oldest = (slot + 1) % int32(c.slots)
	return slot, false
}
