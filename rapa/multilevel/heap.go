package multilevel

// heap is a priority queue of vertices by key, highest first, ties to the lower id. Every vertex is in it at most once.
type heap struct {
	item []entry
	at   []int32 // by vertex: its place in item plus one; 0 = absent
}

type entry struct {
	key int64
	v   int32
}

// before reports whether e leaves the heap before o.
func (e entry) before(o entry) bool { return e.key > o.key || e.key == o.key && e.v < o.v }

// fit makes room for vertices 0 to n-1.
func (h *heap) fit(n int) {
	if len(h.at) < n {
		h.at = make([]int32, n)
	}
}

func (h *heap) len() int { return len(h.item) }

func (h *heap) has(v int32) bool { return h.at[v] != 0 }

// set inserts v with this key, or changes its key.
func (h *heap) set(v int32, key int64) {
	i := int(h.at[v]) - 1
	if i < 0 {
		h.item = append(h.item, entry{key, v})
		h.up(len(h.item) - 1)
		return
	}
	old := h.item[i].key
	h.item[i].key = key
	switch {
	case key > old:
		h.up(i)
	case key < old:
		h.down(i)
	}
}

// pop removes and returns the vertex of the highest key. The heap must not be empty.
func (h *heap) pop() (int32, int64) {
	e := h.item[0]
	h.drop(e.v)
	return e.v, e.key
}

// drop removes v, which must be in the heap.
func (h *heap) drop(v int32) {
	i := int(h.at[v]) - 1
	last := len(h.item) - 1
	e := h.item[last]
	h.item = h.item[:last]
	h.at[v] = 0
	if e.v != v {
		h.item[i] = e
		h.at[e.v] = int32(i) + 1
		h.up(i)
		h.down(int(h.at[e.v]) - 1)
	}
}

// top returns the highest key. The heap must not be empty.
func (h *heap) top() int64 { return h.item[0].key }

func (h *heap) clear() {
	for _, e := range h.item {
		h.at[e.v] = 0
	}
	h.item = h.item[:0]
}

func (h *heap) up(i int) {
	e := h.item[i]
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(h.item[p]) {
			break
		}
		h.item[i] = h.item[p]
		h.at[h.item[i].v] = int32(i) + 1
		i = p
	}
	h.item[i] = e
	h.at[e.v] = int32(i) + 1
}

func (h *heap) down(i int) {
	e := h.item[i]
	for {
		c := 2*i + 1
		if c >= len(h.item) {
			break
		}
		if c+1 < len(h.item) && h.item[c+1].before(h.item[c]) {
			c++
		}
		if !h.item[c].before(e) {
			break
		}
		h.item[i] = h.item[c]
		h.at[h.item[i].v] = int32(i) + 1
		i = c
	}
	h.item[i] = e
	h.at[e.v] = int32(i) + 1
}
