package sample

import (
	"math/bits"

	"capgnn/graph"
)

// index finds the number of a vertex in the ids of a stack.
type index interface {
	// begin forgets all ids.
	begin()
	// number writes the number in ids of each vertex of list to cols, and returns ids with the vertices that were not in it appended.
	number(list, cols []int32, ids []graph.NodeID) []graph.NodeID
}

// slots has a number for every vertex: its own of this stack where the stamp above the number is that of this stack. So what was in it before
// need not be cleared until there are no stamps left, and one load says both whether a vertex is known and where it is.
type slots struct {
	slot  []uint32
	shift int    // bits of a number
	stamp uint32 // of this stack, at least 1
	last  uint32 // the largest stamp
	open  []int32
}

func newSlots(vertices int) *slots {
	shift := min(bits.Len(uint(vertices)), 31)
	return &slots{slot: make([]uint32, vertices), shift: shift, last: 1<<(32-shift) - 1}
}

func (s *slots) begin() {
	if s.stamp == s.last {
		clear(s.slot)
		s.stamp = 0
	}
	s.stamp++
}

// number first looks all entries up without a branch that depends on what is found: a wrong guess costs more than a comparison, and
// stops the loads ahead of it. Then it goes through those that were not found; almost all of them are new.
func (s *slots) number(list, cols []int32, ids []graph.NodeID) []graph.NodeID {
	slot, shift, stamp := s.slot, s.shift&31, s.stamp<<s.shift
	cols = cols[:len(list)]
	for i, v := range list {
		cols[i] = int32(slot[v] ^ stamp) // the number, if there is nothing above it
	}
	s.open = resized(s.open, len(list)+1)
	open, unknown := s.open, 0
	for i, t := range cols {
		open[unknown] = int32(i)
		above := uint32(t) >> shift
		unknown += int((above | -above) >> 31)
	}
	for _, i := range open[:unknown] {
		v := list[i]
		t := slot[v] ^ stamp
		if t>>shift != 0 {
			t = uint32(len(ids))
			slot[v] = t | stamp
			ids = append(ids, v)
		}
		cols[i] = int32(t)
	}
	return ids
}

// table is a hash table with open addressing, at most half full: a cell holds a number plus 1, or 0.
type table struct {
	cells []int32
	shift int // 32 - log2 of the number of cells
}

func (t *table) begin() { clear(t.cells) }

// home is the cell at which the search for v begins (Fibonacci hashing).
func (t *table) home(v graph.NodeID) uint32 { return uint32(v) * 0x9E3779B1 >> t.shift }

func (t *table) number(list, cols []int32, ids []graph.NodeID) []graph.NodeID {
	t.room(len(ids)+len(list), ids)
	mask := uint32(len(t.cells) - 1)
	for i, v := range list {
		c := t.home(v)
		for t.cells[c] != 0 && ids[t.cells[c]-1] != v {
			c = (c + 1) & mask
		}
		if t.cells[c] == 0 {
			ids = append(ids, v)
			t.cells[c] = int32(len(ids))
		}
		cols[i] = t.cells[c] - 1
	}
	return ids
}

// cells is the logarithm of how many cells a table for n ids has.
func cells(n int) int { return max(bits.Len(uint(2*n-1)), 10) }

// room makes the table large enough for n ids; those given are in it.
func (t *table) room(n int, ids []graph.NodeID) {
	if 2*n <= len(t.cells) {
		return
	}
	log := cells(n)
	t.cells, t.shift = make([]int32, 1<<log), 32-log
	for i, v := range ids {
		c := t.home(v)
		for t.cells[c] != 0 {
			c = (c + 1) & uint32(len(t.cells)-1)
		}
		t.cells[c] = int32(i + 1)
	}
}
