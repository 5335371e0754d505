package rapa

import "slices"

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
	return &keyTable{make([]float64, ids), slices.Repeat([]int32{-1}, ids)}
}

func (h *keyHeap) len() int { return len(h.item) }

// build makes a heap of these ids, which are in none, by the keys in the table.
func (h *keyHeap) build(ids []int32) {
	h.item = ids
	for i, id := range ids {
		h.at[id] = int32(i)
	}
	for i := len(ids)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// top returns the id of lowest key. The heap must not be empty.
func (h *keyHeap) top() int32 { return h.item[0] }

// pop removes and returns the id of lowest key. The heap must not be empty.
func (h *keyHeap) pop() int32 {
	id, last := h.item[0], len(h.item)-1
	h.swap(0, last)
	h.item, h.at[id] = h.item[:last], -1
	h.down(0)
	return id
}

// set inserts id with this key, or changes its key.
func (h *keyHeap) set(id int32, key float64) {
	if h.at[id] < 0 {
		h.at[id] = int32(len(h.item))
		h.item = append(h.item, id)
	}
	h.key[id] = key
	h.up(int(h.at[id]))
	h.down(int(h.at[id]))
}

// empty takes every id out.
func (h *keyHeap) empty() {
	for _, id := range h.item {
		h.at[id] = -1
	}
	h.item = h.item[:0]
}

func (h *keyHeap) before(i, j int) bool {
	a, b := h.item[i], h.item[j]
	return h.key[a] < h.key[b] || h.key[a] == h.key[b] && a < b
}

func (h *keyHeap) swap(i, j int) {
	h.item[i], h.item[j] = h.item[j], h.item[i]
	h.at[h.item[i]], h.at[h.item[j]] = int32(i), int32(j)
}

func (h *keyHeap) up(i int) {
	for ; i > 0 && h.before(i, (i-1)/2); i = (i - 1) / 2 {
		h.swap(i, (i-1)/2)
	}
}

func (h *keyHeap) down(i int) {
	for c := 2*i + 1; c < len(h.item); c = 2*i + 1 {
		if c+1 < len(h.item) && h.before(c+1, c) {
			c++
		}
		if !h.before(c, i) {
			return
		}
		h.swap(i, c)
		i = c
	}
}
