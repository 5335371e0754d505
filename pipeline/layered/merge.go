package layered

import (
	"cmp"
	"slices"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
)

// merge brings the chunks of all parts into one order, which says nothing of when they were computed: by the share
// of a part that is done with a chunk, so that parts that take equally long do not wait for each other.
type merge struct {
	turns []turn
	lines []line // by part
}

// turn is a chunk whose turn it is.
type turn struct {
	part, chunk, chunks int
}

// line is what a part hands over: a chunk, and the answer that it has been used.
type line struct {
	chunk chan lent
	used  chan struct{}
}

type lent struct {
	ids  []graph.NodeID
	rows []byte
}

// newMerge returns the order of the chunks of a task.
func newMerge(workers []*worker, task int) *merge {
	m := &merge{}
	for i, w := range workers {
		m.lines = append(m.lines, line{make(chan lent), make(chan struct{})})
		if len(w.part.inner) == 0 {
			continue
		}
		n := w.part.divisions[task].chunks()
		for k := range n {
			m.turns = append(m.turns, turn{i, k, n})
		}
	}
	slices.SortStableFunc(m.turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare((a.chunk+1)*b.chunks, (b.chunk+1)*a.chunks), cmp.Compare(a.part, b.part))
	})
	return m
}

// toMerge hands a worker's chunks over.
func (w *worker) toMerge(m *merge) target {
	l, ended := m.lines[w.index], w.waits.Hub.Context().Done()
	return target{
		place: func([]graph.NodeID) []byte { return nil },
		done: func(ids []graph.NodeID, rows []byte) error {
			select {
			case l.chunk <- lent{ids, rows}:
			case <-ended:
				return w.waits.Hub.Context().Err()
			}
			select {
			case <-l.used:
			case <-ended:
				return w.waits.Hub.Context().Err()
			}
			return nil
		},
	}
}

// run hands the chunks to emit in order.
func (m *merge) run(h *meet.Hub, emit func(ids []graph.NodeID, rows []float32) error) error {
	ended := h.Context().Done()
	for _, t := range m.turns {
		l := m.lines[t.part]
		select {
		case c := <-l.chunk:
			if err := emit(c.ids, hostmem.Of[float32](c.rows)); err != nil {
				return err
			}
			select {
			case l.used <- struct{}{}:
			case <-ended:
				return h.Context().Err()
			}
		case <-ended:
			return h.Context().Err()
		}
	}
	return nil
}
