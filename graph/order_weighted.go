package graph

import (
	"slices"
	"sync"
)

// weighted is a graph whose vertices are clusters.
type weighted struct {
	begin    []int64
	to       []int32
	weight   []int64 // nil: all rows have equal weights
	sum      []int64 // sum of the weights of a row
	strength []int64
	total    int64
}

func (w *weighted) size() int { return len(w.strength) }

func sampled(c *crew, g *CSR) (*weighted, error) {
	n := g.Rows()
	w := &weighted{begin: make([]int64, n+1), sum: make([]int64, n), strength: make([]int64, n)}
	for v := range n {
		row := g.Row(v)
		d := len(row)
		if _, loop := slices.BinarySearch(row, NodeID(v)); loop {
			d--
		}
		w.strength[v] = int64(d) * orderUnit
		w.total += w.strength[v]
		w.sum[v] = int64(min(d, orderSample))
		w.begin[v+1] = w.begin[v] + w.sum[v]
	}
	w.to = make([]int32, w.begin[n])
	const rows = 1 << 12
	err := c.each("sample", blocks(n, rows), func(block int) {
		for v := block * rows; v < min(n, (block+1)*rows); v++ {
			w.draw(v, g.Row(v))
		}
	})
	return w, err
}

// draw fills the row of v with evenly spaced neighbours.
func (w *weighted) draw(v int, row []NodeID) {
	out := w.to[w.begin[v]:w.begin[v+1]]
	d := int(w.strength[v] / orderUnit)
	loop := len(row)
	if d < len(row) {
		loop, _ = slices.BinarySearch(row, NodeID(v))
	}
	first := 0
	if d > len(out) {
		first = int(mix(uint64(v)) % uint64(d))
	}
	for i := range out {
		k := (i*d + first) / len(out)
		if k >= loop {
			k++
		}
		out[i] = row[k]
	}
}

// tally sums weights by label: a hash table with linear probing.
type tally struct {
	slot []tallySlot
	used []int32 // places of slot
	near []int32 // labels of neighbours
	mask uint32
}

type tallySlot struct {
	key int32 // label+1, 0: free
	sum int64
}

// reset empties the table and makes room for n labels.
func (t *tally) reset(n int) {
	for _, p := range t.used {
		t.slot[p] = tallySlot{}
	}
	t.used = t.used[:0]
	size := 64
	for size < 2*n {
		size *= 2
	}
	if size > len(t.slot) {
		t.slot = make([]tallySlot, size)
	}
	t.mask = uint32(size - 1)
}

// add adds x to the sum of a label.
func (t *tally) add(label int32, x int64) {
	p := uint32(label) * 0x9e3779b1
	p = (p ^ p>>15) & t.mask
	for t.slot[p].key != label+1 {
		if t.slot[p].key == 0 {
			t.slot[p].key = label + 1
			t.used = append(t.used, int32(p))
			break
		}
		p = (p + 1) & t.mask
	}
	t.slot[p].sum += x
}

var tallies = sync.Pool{New: func() any { return new(tally) }}

const (
	orderBatches = 31
	orderSweeps  = 8
	orderChunk   = 64
)

// moving is the state of a clustering.
type moving struct {
	w             *weighted
	gamma         float64
	label, want   []int32
	volume        []int64
	members       []int32
	batches, size int
}

// cluster moves vertices between clusters until few gain from it.
func (w *weighted) cluster(c *crew, gamma float64) ([]int32, error) {
	n := w.size()
	m := &moving{w: w, gamma: gamma, label: make([]int32, n), want: make([]int32, n), volume: slices.Clone(w.strength),
		members: make([]int32, n), size: min(max(n/1024, 1), orderChunk)}
	for v := range n {
		m.label[v], m.members[v] = int32(v), 1
	}
	if w.total == 0 {
		return m.label, nil
	}
	chunks := blocks(n, m.size)
	m.batches = min(orderBatches, chunks)
	before := n
	for range orderSweeps {
		moved := 0
		for b := range m.batches {
			err := c.each("move", (chunks-b+m.batches-1)/m.batches, func(i int) {
				t := tallies.Get().(*tally)
				m.decide(t, (i*m.batches+b)*m.size)
				tallies.Put(t)
			})
			if err != nil {
				return nil, err
			}
			for i := b; i < chunks; i += m.batches {
				moved += m.apply(i * m.size)
			}
		}
		if moved*50 < n || moved*10 > before*9 {
			break
		}
		before = moved
	}
	return m.label, nil
}

// apply moves the vertices of a chunk to where they want to be.
func (m *moving) apply(lo int) (moved int) {
	for v := lo; v < min(lo+m.size, len(m.label)); v++ {
		if from, to := m.label[v], m.want[v]; from != to {
			s := m.w.strength[v]
			m.label[v] = to
			m.volume[from] -= s
			m.volume[to] += s
			m.members[from]--
			m.members[to]++
			moved++
		}
	}
	return moved
}

// decide sets want for a chunk, in which each sees what those before it want.
func (m *moving) decide(t *tally, lo int) {
	w := m.w
	for v := lo; v < min(lo+m.size, len(m.label)); v++ {
		to := w.to[w.begin[v]:w.begin[v+1]]
		t.near = t.near[:0]
		for _, u := range to {
			if uint(u)-uint(lo) < uint(v-lo) {
				t.near = append(t.near, m.want[u])
			} else {
				t.near = append(t.near, m.label[u])
			}
		}
		m.want[v] = m.best(t, v)
	}
}

// best returns the label that v would rather have.
func (m *moving) best(t *tally, v int) int32 {
	own, w := m.label[v], m.w
	lo := w.begin[v]
	if len(t.near) == 0 {
		return own
	}
	t.reset(len(t.near) + 1)
	t.add(own, 0)
	if w.weight == nil {
		for _, l := range t.near {
			t.add(l, 1)
		}
	} else {
		for i, l := range t.near {
			if int(w.to[lo+int64(i)]) != v {
				t.add(l, w.weight[lo+int64(i)])
			}
		}
	}
	pull := m.gamma * float64(w.sum[v]) / float64(w.total)
	best := own
	bestScore := float64(t.slot[t.used[0]].sum) - float64(pull*float64(m.volume[own]-w.strength[v]))
	for _, p := range t.used[1:] {
		l := t.slot[p].key - 1
		score := float64(t.slot[p].sum) - float64(pull*float64(m.volume[l]))
		if score > bestScore || score == bestScore && best != own && l < best {
			best, bestScore = l, score
		}
	}
	if best > own && m.members[own] == 1 && m.members[best] == 1 {
		return own
	}
	return best
}

// contract returns the graph of the k clusters.
func (w *weighted) contract(c *crew, label []int32, k int) (*weighted, error) {
	n := w.size()
	out := &weighted{begin: make([]int64, k+1), sum: make([]int64, k), strength: make([]int64, k), total: w.total}
	first := make([]int32, k+1)
	for v, l := range label {
		first[l+1]++
		out.strength[l] += w.strength[v]
	}
	for l := range k {
		first[l+1] += first[l]
	}
	member, next := make([]int32, n), slices.Clone(first[:k])
	for v, l := range label {
		member[next[l]] = int32(v)
		next[l]++
	}
	const chunk = 64
	type piece struct {
		to     []int32
		weight []int64
	}
	pieces := make([]piece, blocks(k, chunk))
	err := c.each("contract", len(pieces), func(block int) {
		t := tallies.Get().(*tally)
		p := &pieces[block]
		for l := block * chunk; l < min(k, (block+1)*chunk); l++ {
			w.gather(t, member[first[l]:first[l+1]], label)
			for _, at := range t.used {
				p.to, p.weight = append(p.to, t.slot[at].key-1), append(p.weight, t.slot[at].sum)
				out.sum[l] += t.slot[at].sum
			}
			out.begin[l+1] = int64(len(t.used))
		}
		tallies.Put(t)
	})
	if err != nil {
		return nil, err
	}
	for l := range k {
		out.begin[l+1] += out.begin[l]
	}
	out.to, out.weight = make([]int32, out.begin[k]), make([]int64, out.begin[k])
	return out, c.each("contract", len(pieces), func(block int) {
		at := out.begin[block*chunk]
		copy(out.to[at:], pieces[block].to)
		copy(out.weight[at:], pieces[block].weight)
	})
}

// gather sums the rows of a cluster's members.
func (w *weighted) gather(t *tally, members []int32, label []int32) {
	entries := int64(0)
	for _, v := range members {
		entries += w.begin[v+1] - w.begin[v]
	}
	t.reset(int(entries))
	for _, v := range members {
		lo, hi := w.begin[v], w.begin[v+1]
		if lo == hi {
			continue
		}
		unit := w.strength[v] / (hi - lo)
		for i, u := range w.to[lo:hi] {
			if w.weight != nil {
				unit = w.weight[lo+int64(i)]
			}
			t.add(label[u], unit)
		}
	}
}
