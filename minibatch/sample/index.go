package sample

import (
	"math/bits"

	"capgnn/graph"
)

// index finds the number of a vertex in the ids of a stack.
type index interface {
	// begin forgets all ids.
	begin()
	// number replaces each vertex of list by its number in ids, and returns ids with the vertices that were not in it appended.
	number(list []int32, ids []graph.NodeID) []graph.NodeID
}

// slots is a sparse set: vertex v has number slots[v] if ids has v there. So what was in it before need not be cleared.
type slots []int32

func (s slots) begin() {}

func (s slots) number(list []int32, ids []graph.NodeID) []graph.NodeID {
	for i, v := range list {
		t := s[v]
		if uint(t) >= uint(len(ids)) || ids[t] != v {
			t = int32(len(ids))
			s[v] = t
			ids = append(ids, v)
		}
		list[i] = t
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

func (t *table) number(list []int32, ids []graph.NodeID) []graph.NodeID {
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
		list[i] = t.cells[c] - 1
	}
	return ids
}

// room makes the table large enough for n ids; those given are in it.
func (t *table) room(n int, ids []graph.NodeID) {
	if 2*n <= len(t.cells) {
		return
	}
	log := max(bits.Len(uint(2*n-1)), 10)
	t.cells, t.shift = make([]int32, 1<<log), 32-log
	for i, v := range ids {
		c := t.home(v)
		for t.cells[c] != 0 {
			c = (c + 1) & uint32(len(t.cells)-1)
		}
		t.cells[c] = int32(i + 1)
	}
}
