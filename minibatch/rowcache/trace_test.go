package rowcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// trace is the rows of a run's steps.
type trace [][]graph.NodeID

func (tr trace) ahead(step int) ([]graph.NodeID, bool) {
	if step >= len(tr) {
		return nil, false
	}
	return slices.Clone(tr[step]), true
}

// randomTrace draws steps that read some of n vertices, low ids more often.
func randomTrace(r *rand.Rand, steps, n, most int) trace {
	tr := make(trace, steps)
	for t := range tr {
		rows := map[graph.NodeID]bool{}
		for range r.IntN(min(most, n) + 1) {
			v := r.IntN(n)
			if r.IntN(2) == 0 {
				v = r.IntN(v + 1)
			}
			rows[graph.NodeID(v)] = true
		}
		for v := range rows {
			tr[t] = append(tr[t], v)
		}
		slices.Sort(tr[t])
		r.Shuffle(len(tr[t]), func(i, j int) { tr[t][i], tr[t][j] = tr[t][j], tr[t][i] })
	}
	return tr
}

// cache does what decisions say, and checks them: a row is in at most one slot, hits are there, and every row of a step comes from somewhere.
type cache struct {
	t       *testing.T
	rows    []graph.NodeID // by slot, -1: none
	fetched int            // rows brought so far
	hits    int
}

func newCache(t *testing.T, slots int) *cache {
	c := &cache{t: t, rows: make([]graph.NodeID, slots)}
	for i := range c.rows {
		c.rows[i] = -1
	}
	return c
}

// do does what is decided of a step, and fails where it cannot.
func (c *cache) do(p Policy, s Step, d *Decision) {
	c.t.Helper()
	was := slices.Clone(c.rows)
	err := c.read(s, d)
	if err == nil {
		c.write(d)
		err = c.compare(p, d, was)
	}
	if err != nil {
		c.t.Fatalf("step %d: %v: %+v", s.Number, err, d)
	}
}

// read reads the rows of a step.
func (c *cache) read(s Step, d *Decision) error {
	if len(d.From) != len(s.Rows) {
		return fmt.Errorf("%d rows come from somewhere, of %d", len(d.From), len(s.Rows))
	}
	for i, v := range s.Rows {
		from := d.From[i]
		switch {
		case from >= 0:
			if int(from) >= len(c.rows) || c.rows[from] != v {
				return fmt.Errorf("row %d is not in slot %d", v, from)
			}
			c.hits++
		case int(^from) >= len(d.Fetch) || d.Fetch[^from].ID != v || int(d.Fetch[^from].Row) != i:
			return fmt.Errorf("row %d is neither held nor fetched", v)
		}
	}
	asked := map[graph.NodeID]bool{}
	for k, f := range d.Fetch {
		if asked[f.ID] {
			return fmt.Errorf("row %d is asked for twice", f.ID)
		}
		asked[f.ID] = true
		if f.Row >= 0 && d.From[f.Row] != ^int32(k) {
			return fmt.Errorf("row %d is held, and fetched to be read", f.ID)
		}
	}
	return nil
}

// write fills slots.
func (c *cache) write(d *Decision) {
	for _, f := range d.Fetch {
		if f.Slot >= 0 {
			c.rows[f.Slot] = f.ID
		}
	}
	c.fetched += len(d.Fetch)
}

// compare checks that slots are what the policy says, and no row is in two. Rows that it has forgotten are no longer there.
func (c *cache) compare(p Policy, d *Decision, was []graph.NodeID) error {
	in := map[graph.NodeID]bool{}
	for slot, v := range p.Held() {
		switch {
		case v < 0:
			c.rows[slot] = -1
		case in[v]:
			return fmt.Errorf("row %d is in two slots", v)
		case c.rows[slot] != v:
			return fmt.Errorf("slot %d has row %d, the policy says %d", slot, c.rows[slot], v)
		}
		in[v] = true
	}
	left := 0
	for _, v := range was {
		if v >= 0 && !in[v] {
			left++
		}
	}
	if left != d.Evicted {
		return fmt.Errorf("%d rows left, %d counted", left, d.Evicted)
	}
	return nil
}

// run decides the steps from..to-1 and does what they say.
func (tr trace) run(c *cache, p Policy, from, to int) {
	c.t.Helper()
	var d Decision
	for t := from; t < to; t++ {
		s := Step{t, tr[t]}
		p.Decide(s, &d)
		c.do(p, s, &d)
	}
}
