package multilevel

// heap is a priority queue of vertices by key, highest first, ties to the lower id. Every vertex is in it at most once.
type heap struct {
	item []int32
	key  []int64 // by vertex
	at   []int32 // by vertex: its place in item plus one; 0 = absent
}

// fit makes room for vertices 0 to n-1.
func (h *heap) fit(n int) {
	if len(h.at) < n {
		h.key, h.at = make([]int64, n), make([]int32, n)
	}
}

func (h *heap) len() int { return len(h.item) }

func (h *heap) has(v int32) bool { return h.at[v] != 0 }

// set inserts v with this key, or changes its key.
func (h *heap) set(v int32, key int64) {
	i := int(h.at[v]) - 1
	if i < 0 {
		i = len(h.item)
		h.item = append(h.item, v)
		h.key[v] = key
		h.up(i)
		return
	}
	old := h.key[v]
	h.key[v] = key
	switch {
	case key > old:
		h.up(i)
	case key < old:
		h.down(i)
	}
}

// pop removes and returns the vertex of the highest key. The heap must not be empty.
func (h *heap) pop() (int32, int64) {
	v := h.item[0]
	h.drop(v)
	return v, h.key[v]
}

// drop removes v, which must be in the heap.
func (h *heap) drop(v int32) {
	i := int(h.at[v]) - 1
	last := len(h.item) - 1
	w := h.item[last]
	h.item = h.item[:last]
	h.at[v] = 0
	if w != v {
		h.item[i] = w
		h.at[w] = int32(i) + 1
		h.up(i)
		h.down(int(h.at[w]) - 1)
	}
}

// top returns the highest key. The heap must not be empty.
func (h *heap) top() int64 { return h.key[h.item[0]] }

func (h *heap) clear() {
	for _, v := range h.item {
		h.at[v] = 0
	}
	h.item = h.item[:0]
}

func (h *heap) before(a, b int32) bool {
	return h.key[a] > h.key[b] || h.key[a] == h.key[b] && a < b
}

func (h *heap) up(i int) {
	v := h.item[i]
	for i > 0 {
		p := (i - 1) / 2
		if !h.before(v, h.item[p]) {
			break
		}
		h.item[i] = h.item[p]
		h.at[h.item[i]] = int32(i) + 1
		i = p
	}
	h.item[i] = v
	h.at[v] = int32(i) + 1
}

func (h *heap) down(i int) {
	v := h.item[i]
	for {
		c := 2*i + 1
		if c >= len(h.item) {
			break
		}
		if c+1 < len(h.item) && h.before(h.item[c+1], h.item[c]) {
			c++
		}
		if !h.before(h.item[c], v) {
			break
		}
		h.item[i] = h.item[c]
		h.at[h.item[i]] = int32(i) + 1
		i = c
	}
	h.item[i] = v
	h.at[v] = int32(i) + 1
}
