package jaca

import "container/heap"

// chooseBySlack gives global slots one by one, each to the row that saves most, given the local slots that its readers would choose.
// The slack of a reader is the number of its rows without a global slot, less its local slots. While it is positive, the row
// would be sent to the reader in every epoch, and after that once a period. The saving of a row can only fall when slack runs out,
// at most once for each reader. So a heap of earlier savings suffices: its top is computed again before it is taken.
func (c *costs) chooseBySlack(x *Exchange, caps *Capacities, s *placement) {
	slack := make([]int, len(x.Halos))
	for i := range slack {
		slack[i] = x.Halos[i].rows() - caps.Local[i]
	}
	ready := func(part, _ int32) bool { return slack[part] <= 0 }
	h := make(byWorth, 0, len(c.ix.ids))
	for r := range c.ix.ids {
		h = append(h, candidate{c.globalSaving(r, ready), false, c.ix.edges[r], int32(r), int32(c.ix.ids[r])})
	}
	heap.Init(&h)
	for n := 0; n < caps.Global && len(h) > 0; {
		top := &h[0]
		if now := c.globalSaving(int(top.at), ready); now != top.saving {
			top.saving = now
			heap.Fix(&h, 0)
			continue
		}
		if top.saving < 0 {
			break
		}
		s.global[top.at] = true
		for k := c.ix.at[top.at]; k < c.ix.at[top.at+1]; k++ {
			slack[c.ix.part[k]]--
		}
		heap.Pop(&h)
		n++
	}
}

// byWorth is a heap of candidates, best first.
type byWorth []candidate

func (h byWorth) Len() int           { return len(h) }
func (h byWorth) Less(i, j int) bool { return h[i].before(&h[j]) }
func (h byWorth) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byWorth) Push(any)          { panic("jaca: the heap only shrinks") }
func (h *byWorth) Pop() any {
	last := len(*h) - 1
	*h = (*h)[:last]
	return nil
}
