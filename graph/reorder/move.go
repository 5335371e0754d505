package reorder

import (
	"slices"

	"capgnn/graph/internal/parallel"
)

const (
	// orderBatches is the number of batches of a sweep: vertices of one batch do not see each other move.
	orderBatches = 31
	// orderChunk is the most vertices, consecutive ones, that one goroutine decides in turn. Chunks take turns in batches.
	orderChunk = 64
	// orderSweeps bounds the sweeps of a level. 3 instead of 8 cost up to 5 % of the hits, 5 none.
	orderSweeps = 6
)

// moving is a clustering that vertices of w still leave and join.
type moving struct {
	w       *weighted
	gamma   float64
	label   []int32 // cluster of each vertex, named after a vertex
	want    []int32 // the cluster that a vertex of the current batch has chosen
	volume  []int64 // strength of each cluster
	members []int32 // vertices of each cluster
	asleep  []bool  // vertices that are not asked in this sweep
	sweeps  int     // sweeps done
	chunk   int     // vertices
}

// cluster returns the cluster of each vertex, at resolution gamma: see Community. A cluster is named after a vertex.
//
// Method: every vertex begins alone. Who stays in the second sweep or later is not asked again: that spares up to a quarter of
// the time and gave 6 to 8 % more hits on products-like, 2 % fewer on yelp-like. Sweeps end when less than 2 % of the vertices
// move, or more than 0.9 times as many as in the sweep before: then what is left goes to and fro.
func (a *agglomeration) cluster(w *weighted, gamma float64) ([]int32, error) {
	n := w.size()
	m := &moving{w: w, gamma: gamma, label: make([]int32, n), want: make([]int32, n), volume: slices.Clone(w.strength),
		members: make([]int32, n), asleep: make([]bool, n), chunk: min(max(n/1024, 1), orderChunk)}
	for v := range n {
		m.label[v], m.members[v] = int32(v), 1
	}
	for before := n; m.sweeps < orderSweeps; m.sweeps++ {
		moved, err := a.sweep(m)
		if err != nil {
			return nil, err
		}
		if moved*50 < n || moved*10 > before*9 {
			break
		}
		before = moved
	}
	return m.label, nil
}

// sweep asks every vertex that is awake once and returns how many moved.
func (a *agglomeration) sweep(m *moving) (moved int, err error) {
	chunks := parallel.Blocks(len(m.label), m.chunk)
	batches := min(orderBatches, chunks)
	for b := range batches {
		err := a.Each("move", (chunks-b+batches-1)/batches, func(i int) {
			t := a.tallies.Get().(*tally)
			m.decide(t, (i*batches+b)*m.chunk)
			a.tallies.Put(t)
		})
		if err != nil {
			return 0, err
		}
		for i := b; i < chunks; i += batches {
			moved += m.apply(i * m.chunk)
		}
	}
	return moved, nil
}

// decide sets want for the chunk from lo on. Each of its vertices sees what those of the chunk before it want, and of all
// others where they are.
func (m *moving) decide(t *tally, lo int) {
	w := m.w
	for v := lo; v < min(lo+m.chunk, len(m.label)); v++ {
		if m.asleep[v] {
			m.want[v] = m.label[v]
			continue
		}
		t.near = t.near[:0]
		for _, u := range w.to[w.begin[v]:w.begin[v+1]] {
			if int(u) >= lo && int(u) < v {
				t.near = append(t.near, m.want[u])
			} else {
				t.near = append(t.near, m.label[u])
			}
		}
		m.want[v] = m.best(t, v)
		m.asleep[v] = m.sweeps > 0 && m.want[v] == m.label[v]
	}
}

// best returns the cluster that v would rather be in, given those of its neighbours: its own unless another one is better,
// of equally good ones the lowest. Of two that are alone only the higher one joins the lower, so they cannot change places.
func (m *moving) best(t *tally, v int) int32 {
	own, w := m.label[v], m.w
	t.reset(len(t.near) + 1)
	t.add(own, 0)
	lo := w.begin[v]
	for i, l := range t.near {
		switch e := lo + int64(i); {
		case w.weight == nil:
			t.add(l, 1)
		case int(w.to[e]) != v:
			t.add(l, w.weight[e])
		}
	}
	// Conversions keep the compiler from fusing multiply and add, which would make orders differ between platforms.
	pull := float64(m.gamma*float64(w.sum[v])) / float64(w.total)
	best, score := own, float64(t.slot[t.used[0]].sum)-float64(pull*float64(m.volume[own]-w.strength[v]))
	for _, p := range t.used[1:] {
		l := t.slot[p].key - 1
		s := float64(t.slot[p].sum) - float64(pull*float64(m.volume[l]))
		if s > score || s == score && best != own && l < best {
			best, score = l, s
		}
	}
	if best > own && m.members[own] == 1 && m.members[best] == 1 {
		return own
	}
	return best
}

// apply moves the vertices of the chunk from lo on to where they want to be and returns how many moved.
func (m *moving) apply(lo int) (moved int) {
	for v := lo; v < min(lo+m.chunk, len(m.label)); v++ {
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
