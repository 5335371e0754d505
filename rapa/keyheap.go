package rapa

import "container/heap"

// keyHeap is a priority queue of ids by key, lowest first, ties to the lower id. Several heaps over disjoint sets of ids
// share one keyTable, so that an id's key can be changed wherever the id waits.
type keyHeap struct {
	*keyTable
	item []int32
}

// keyTable holds the key of every id and where it stands in its heap.
type keyTable struct {
	key []float64
	at  []int32 // position in item, -1 = in no heap
}

func newKeyTable(ids int) *keyTable {
	t := &keyTable{make([]float64, ids), make([]int32, ids)}
	for i := range t.at {
		t.at[i] = -1
	}
	return t
}

// Len, Less, Swap, Push and Pop are container/heap's.
func (h *keyHeap) Len() int { return len(h.item) }

func (h *keyHeap) Less(i, j int) bool {
	a, b := h.item[i], h.item[j]
	return h.key[a] < h.key[b] || h.key[a] == h.key[b] && a < b
}

func (h *keyHeap) Swap(i, j int) {
	h.item[i], h.item[j] = h.item[j], h.item[i]
	h.at[h.item[i]], h.at[h.item[j]] = int32(i), int32(j)
}

func (h *keyHeap) Push(x any) {
	id := x.(int32)
	h.at[id] = int32(len(h.item))
	h.item = append(h.item, id)
}

func (h *keyHeap) Pop() any {
	last := len(h.item) - 1
	id := h.item[last]
	h.item, h.at[id] = h.item[:last], -1
	return id
}

// build makes a heap of these ids, which are in none, by the keys in the table.
func (h *keyHeap) build(ids []int32) {
	h.item = ids
	for i, id := range ids {
		h.at[id] = int32(i)
	}
	heap.Init(h)
}

// top returns the id of lowest key. The heap must not be empty.
func (h *keyHeap) top() int32 { return h.item[0] }

// pop removes and returns the id of lowest key. The heap must not be empty.
func (h *keyHeap) pop() int32 { return heap.Pop(h).(int32) }

// set inserts id with this key, or changes its key.
func (h *keyHeap) set(id int32, key float64) {
	h.key[id] = key
	if h.at[id] < 0 {
		heap.Push(h, id)
	} else {
		heap.Fix(h, int(h.at[id]))
	}
}

// empty takes every id out.
func (h *keyHeap) empty() {
	for _, id := range h.item {
		h.at[id] = -1
	}
	h.item = h.item[:0]
}
