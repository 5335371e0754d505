package rowcache

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// slowRapid is what rapid says, on lists.
type slowRapid struct {
	tr           trace
	slots, steps int
	pull         bool
	hot, here    []graph.NodeID
}

// decide returns the rows that a step fetches: those that it reads, and the others.
func (p *slowRapid) decide(step int) (fetched, pulled []graph.NodeID) {
	border := step%p.steps == 0
	if border {
		reads := map[graph.NodeID]int{}
		for _, rows := range p.tr[step:min(len(p.tr), step+p.steps)] {
			for _, v := range rows {
				reads[v]++
			}
		}
		p.hot = p.hot[:0]
		for v, n := range reads {
			if n >= 2 {
				p.hot = append(p.hot, v)
			}
		}
		slices.SortFunc(p.hot, func(a, b graph.NodeID) int { return cmp.Or(reads[b]-reads[a], int(a-b)) })
		p.hot = p.hot[:min(len(p.hot), p.slots)]
		p.here = slices.DeleteFunc(p.here, func(v graph.NodeID) bool { return p.pull || !slices.Contains(p.hot, v) })
	}
	for _, v := range p.tr[step] {
		if !slices.Contains(p.here, v) {
			fetched = append(fetched, v)
			if slices.Contains(p.hot, v) {
				p.here = append(p.here, v)
			}
		}
	}
	if border && p.pull {
		for _, v := range p.hot {
			if !slices.Contains(p.here, v) {
				pulled, p.here = append(pulled, v), append(p.here, v)
			}
		}
	}
	return fetched, pulled
}

// split returns the rows of a decision that the step reads, in its order, and the others, ascending.
func split(d *Decision) (fetched, pulled []graph.NodeID) {
	for _, f := range d.Fetch {
		if f.Row >= 0 {
			fetched = append(fetched, f.ID)
		} else {
			pulled = append(pulled, f.ID)
		}
	}
	slices.Sort(pulled)
	return fetched, pulled
}

func TestRapidEqualsItsTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 400 {
		n := 1 + r.IntN(40)
		tr := randomTrace(r, 1+r.IntN(30), n, 1+r.IntN(n))
		slots, w, pull := r.IntN(n+1), tr.world(r, n), r.IntN(2) == 0
		p := New(Rules{Kind: Rapid, Pull: pull}, slots, w)
		twin := slowRapid{tr: tr, slots: slots, steps: w.Steps, pull: pull}
		c := newCache(t, slots)
		var d Decision
		for step, rows := range tr {
			s := Step{step, rows}
			p.Decide(s, &d)
			c.do(p, s, &d)
			fetched, pulled := split(&d)
			want, more := twin.decide(step)
			if slices.Sort(more); !slices.Equal(fetched, want) || !slices.Equal(pulled, more) || !slices.Equal(sorted(p.Held()), sorted(twin.here)) {
				t.Fatalf("step %d of %v, %d slots, epochs of %d, pull %t: fetched %v and %v, holds %v; want %v and %v, %v", step, tr, slots, w.Steps, pull,
					fetched, pulled, sorted(p.Held()), want, more, sorted(twin.here))
			}
		}
	}
}

// Algorithm 1 of RapidGNN by hand: two epochs of three batches, n_hot = 2. Of N_remote of the first epoch 7 is read three times, 4 and 5 twice: the cache is 7 and, of
// lower id, 4. Of the second epoch 5 is read three times, 7 and 9 twice: 5 and 7.
func TestRapidByHand(t *testing.T) {
	tr := trace{{7, 1}, {7, 5, 4}, {5, 7, 4}, {9, 5}, {5, 4, 7}, {7, 5, 9}}
	for _, test := range []struct {
		pull    bool
		fetched [][]graph.NodeID // by batch, that it reads
		pulled  [][]graph.NodeID // and others
	}{
		// 4 comes with the batch that reads it first. 7 stays at the border.
		{false, [][]graph.NodeID{{7, 1}, {5, 4}, {5}, {9, 5}, {4}, {9}}, make([][]graph.NodeID, 6)},
		// Both come at the border, 7 once more.
		{true, [][]graph.NodeID{{7, 1}, {5}, {5}, {9, 5}, {4}, {9}}, [][]graph.NodeID{{4}, nil, nil, {7}, nil, nil}},
	} {
		p := New(Rules{Kind: Rapid, Pull: test.pull}, 2, World{Vertices: 10, Ahead: tr.ahead, Steps: 3})
		c := newCache(t, 2)
		var d Decision
		for step, rows := range tr {
			s := Step{step, rows}
			p.Decide(s, &d)
			c.do(p, s, &d)
			if fetched, pulled := split(&d); !slices.Equal(fetched, test.fetched[step]) || !slices.Equal(pulled, test.pulled[step]) {
				t.Errorf("pull %t, batch %d: fetched %v and %v, want %v and %v", test.pull, step, fetched, pulled, test.fetched[step], test.pulled[step])
			}
			if want := []graph.NodeID{4, 7}; step == 2 && !slices.Equal(sorted(p.Held()), want) {
				t.Errorf("pull %t: C_s of the first epoch is %v, want %v", test.pull, sorted(p.Held()), want)
			}
			if want := []graph.NodeID{5, 7}; step == 5 && !slices.Equal(sorted(p.Held()), want) {
				t.Errorf("pull %t: C_s of the second epoch is %v, want %v", test.pull, sorted(p.Held()), want)
			}
		}
	}
}

// A cache that is swapped a step early is another one: the twin tells.
func TestSwapAStepEarly(t *testing.T) {
	tr := randomTrace(rand.New(rand.NewPCG(10, 1)), 30, 40, 30)
	early := func(step int) ([]graph.NodeID, bool) { return tr.ahead(step - 1) }
	p := New(Rules{Kind: Rapid}, 8, World{Vertices: 40, Ahead: early, Steps: 6})
	twin := slowRapid{tr: tr, slots: 8, steps: 6}
	var d Decision
	for step, rows := range tr {
		p.Decide(Step{step + 1, rows}, &d) // what is step 5 of an epoch to the twin is step 0 of the next one
		fetched, _ := split(&d)
		if want, _ := twin.decide(step); !slices.Equal(fetched, want) {
			return
		}
	}
	t.Error("a cache that is swapped a step early decides like the twin")
}
