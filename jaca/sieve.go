package jaca

// sieve keeps rows in the order in which they got slots and marks those that are read again. To make room a hand moves from
// the oldest to the newest and round again: it takes marks away and evicts the first row without one.
//
// Source: Zhang et al., SIEVE is simpler than LRU, NSDI 2024, Algorithm 1.
type sieve struct {
	table
	next, prev       []int32 // by slot: the next newer and next older one, −1 = none
	visited          []bool  // by slot
	head, tail, hand int32   // newest, oldest and next to be looked at; −1 = none
}

func (c *sieve) Read(row int32) (int32, bool) {
	slot := c.slotOf[row]
	switch {
	case slot >= 0:
		c.visited[slot] = true
		return slot, true
	case c.slots == 0:
		return -1, false
	case !c.full():
		slot = c.append(row)
	default:
		slot = c.evict()
		c.replace(slot, row)
	}
	c.next[slot], c.prev[slot] = -1, c.head
	if c.head >= 0 {
		c.next[c.head] = slot
	} else {
		c.tail = slot
	}
	c.head = slot
	return slot, false
}

// evict takes a slot out of the list and returns it.
func (c *sieve) evict() int32 {
	slot := c.hand
	if slot < 0 {
		slot = c.tail
	}
	for c.visited[slot] {
		c.visited[slot] = false
		if slot = c.next[slot]; slot < 0 {
			slot = c.tail
		}
	}
	newer, older := c.next[slot], c.prev[slot]
	c.hand = newer
	if older >= 0 {
		c.next[older] = newer
	} else {
		c.tail = newer
	}
	if newer >= 0 {
		c.prev[newer] = older
	} else {
		c.head = older
	}
	return slot
}
