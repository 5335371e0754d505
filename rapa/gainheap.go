package rapa

import "capgnn/graph"

// gainHeap is a priority queue of vertices by integer gain, highest first, ties to the lower id. Every vertex is in it at
// most once and its gain can be changed.
type gainHeap struct {
	item []graph.NodeID
	gain []int32 // by vertex
	at   []int32 // position in item by vertex, -1 = absent
}

func newGainHeap(n int) *gainHeap {
	h := &gainHeap{gain: make([]int32, n), at: make([]int32, n)}
	for v := range h.at {
		h.at[v] = -1
	}
	return h
}

func (h *gainHeap) len() int { return len(h.item) }

// set inserts v with this gain, or changes its gain.
func (h *gainHeap) set(v graph.NodeID, gain int32) {
	if h.at[v] < 0 {
		h.at[v] = int32(len(h.item))
		h.item = append(h.item, v)
	}
	h.gain[v] = gain
	h.up(int(h.at[v]))
	h.down(int(h.at[v]))
}

// pop removes and returns the vertex of highest gain. The heap must not be empty.
func (h *gainHeap) pop() (v graph.NodeID, gain int32) {
	v = h.item[0]
	last := len(h.item) - 1
	h.swap(0, last)
	h.item, h.at[v] = h.item[:last], -1
	if last > 0 {
		h.down(0)
	}
	return v, h.gain[v]
}

// top returns the highest gain. The heap must not be empty.
func (h *gainHeap) top() int32 { return h.gain[h.item[0]] }

func (h *gainHeap) clear() {
	for _, v := range h.item {
		h.at[v] = -1
	}
	h.item = h.item[:0]
}

func (h *gainHeap) before(i, j int) bool {
	a, b := h.item[i], h.item[j]
	return h.gain[a] > h.gain[b] || h.gain[a] == h.gain[b] && a < b
}

func (h *gainHeap) swap(i, j int) {
	h.item[i], h.item[j] = h.item[j], h.item[i]
	h.at[h.item[i]], h.at[h.item[j]] = int32(i), int32(j)
}

func (h *gainHeap) up(i int) {
	for i > 0 && h.before(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *gainHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h.item) {
			return
		}
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
