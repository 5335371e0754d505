package rowcache

import "capgnn/graph"

// held says which row is in which slot: 4 bytes per vertex and per slot.
type held struct {
	slotOf []int32        // by vertex: its slot, if ids says so, too; so a row that leaves needs no write here
	ids    []graph.NodeID // by slot; -1: empty
}

func newHeld(slots, vertices int) held {
	h := held{slotOf: make([]int32, vertices), ids: make([]graph.NodeID, slots)}
	for s := range h.ids {
		h.ids[s] = -1
	}
	return h
}

// Held is Policy's.
func (h *held) Held() []graph.NodeID { return h.ids }

// slot returns the slot of a row, -1: none.
func (h *held) slot(v graph.NodeID) int32 {
	if s := h.slotOf[v]; int(s) < len(h.ids) && h.ids[s] == v {
		return s
	}
	return -1
}

// put gives a slot to a row that has none.
func (h *held) put(slot int32, v graph.NodeID) { h.ids[slot], h.slotOf[v] = v, slot }
