package rowcache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"capgnn/graph"
)

// settings are the policies of random tests.
func settings(r *rand.Rand) []Rules {
	return []Rules{
		{}, {Kind: Planned, Lookahead: 1 + r.IntN(9)}, {Kind: Planned, Lookahead: All}, {Kind: Rapid}, {Kind: Rapid, Pull: true},
		{Kind: Massive, Share: r.Float64(), Gamma: 0.5 + r.Float64()/2, Delta: 1 + r.IntN(8)},
	}
}

// world is what policies know of a trace: epochs of some steps, and every second vertex, of any degree, in the halo.
func (tr trace) world(r *rand.Rand, n int) World {
	w := World{Vertices: n, Remote: n, Ahead: tr.ahead, Steps: 1 + r.IntN(12)}
	degree := make([]int, n)
	for v := range degree {
		degree[v] = r.IntN(5)
		if v%2 == 0 {
			w.Halo = append(w.Halo, graph.NodeID(v))
		}
	}
	w.Degree = func(v graph.NodeID) int { return degree[v] }
	return w
}

// Decisions of random traces do what cache checks; a policy that is restored in between decides equally, and so does one that begins again.
func TestPolicies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for round := range 300 {
		n := 1 + r.IntN(60)
		tr := randomTrace(r, 2+r.IntN(40), n, 1+r.IntN(n))
		slots := r.IntN(n + 3)
		w := tr.world(r, n)
		for _, rules := range settings(r) {
			t.Run(fmt.Sprint(round, rules), func(t *testing.T) {
				p, again := New(rules, slots, w), New(rules, slots, w)
				c := newCache(t, len(p.Held()))
				cut := r.IntN(len(tr))
				for step, rows := range tr {
					if step == cut {
						saved := again.Save()
						again = New(rules, slots, w)
						if err := again.Restore(saved); err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(again.Save(), saved) || !slices.Equal(again.Held(), p.Held()) {
							t.Fatalf("step %d: restored otherwise than saved", step)
						}
					}
					var d, e Decision
					s := Step{step, rows}
					p.Decide(s, &d)
					c.do(p, s, &d)
					if again.Decide(s, &e); !reflect.DeepEqual(d, e) {
						t.Fatalf("step %d, restored before %d: %+v, want %+v", step, cut, e, d)
					}
				}
			})
		}
	}
}

// States that nobody saved are refused, and leave the policy as it is.
func FuzzRestore(f *testing.F) {
	tr := randomTrace(rand.New(rand.NewPCG(4, 1)), 12, 30, 12)
	w := tr.world(rand.New(rand.NewPCG(4, 2)), 30)
	rules := settings(rand.New(rand.NewPCG(5, 1)))
	for k := range rules {
		p := New(rules[k], 7, w)
		var d Decision
		for step := range 6 {
			p.Decide(Step{step, tr[step]}, &d)
		}
		f.Add(k, p.Save())
	}
	f.Fuzz(func(t *testing.T, k int, state []byte) {
		p := New(rules[max(0, k)%len(rules)], 7, w)
		before := p.Save()
		if err := p.Restore(state); err != nil {
			if !bytes.Equal(p.Save(), before) {
				t.Fatalf("%v, and the policy has changed", err)
			}
			return
		}
		saved := p.Save()
		if q := New(rules[max(0, k)%len(rules)], 7, w); q.Restore(saved) != nil {
			t.Fatal("what was saved is refused")
		}
	})
}

func TestRules(t *testing.T) {
	for _, r := range []Rules{{Kind: -1}, {Kind: Kind(len(kinds))}, {Kind: Planned, Lookahead: -1}, {Kind: Massive, Share: 1.5}, {Kind: Massive, Gamma: -1}, {Kind: Massive, Delta: -1}} {
		if r.Validate() == nil {
			t.Errorf("%+v is valid", r)
		}
	}
}

// Steps come in order, each once.
func TestStepsComeInOrder(t *testing.T) {
	for _, rules := range settings(rand.New(rand.NewPCG(6, 1))) {
		p := New(rules, 2, trace{}.world(rand.New(rand.NewPCG(6, 2)), 3))
		var d Decision
		p.Decide(Step{Number: 4}, &d) // a run may begin anywhere
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: step 6 is decided behind step 4", rules)
				}
			}()
			p.Decide(Step{Number: 6}, &d)
		}()
	}
}

// At equal slots, planned with all steps ahead fetches no more than any other policy, and rapid no more than with pull.
func TestWhoFetchesLess(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 200 {
		n := 1 + r.IntN(80)
		tr := randomTrace(r, 2+r.IntN(40), n, 1+r.IntN(n))
		slots, w := r.IntN(n+1), tr.world(r, n)
		count := func(rules Rules) int {
			p := New(rules, slots, w)
			c := newCache(t, len(p.Held()))
			tr.run(c, p, 0, len(tr))
			return c.fetched
		}
		best := count(Rules{Kind: Planned, Lookahead: All})
		for _, rules := range settings(r) {
			if n := count(rules); n < best {
				t.Errorf("%+v fetches %d rows, planned with all steps ahead %d", rules, n, best)
			}
		}
		if lazy, pull := count(Rules{Kind: Rapid}), count(Rules{Kind: Rapid, Pull: true}); lazy > pull {
			t.Errorf("rapid fetches %d rows, with pull %d", lazy, pull)
		}
	}
}

// A cache that is written before the reads of the step, or with what the next step fetches, is caught.
func TestSlotsWrittenEarlyAreCaught(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	tr := randomTrace(r, 40, 50, 30)
	w := tr.world(r, 50)
	for _, rules := range []Rules{{Kind: Planned, Lookahead: 4}, {Kind: Rapid}, {Kind: Massive, Share: 0.5, Gamma: 0.6, Delta: 2}} {
		for _, early := range []int{0, 1} {
			p := New(rules, 10, w)
			c := newCache(t, len(p.Held()))
			caught := false
			decisions := make([]Decision, len(tr))
			for step, rows := range tr {
				p.Decide(Step{step, rows}, &decisions[step])
			}
			for step, rows := range tr {
				if step+early < len(tr) {
					c.write(&decisions[step+early])
				}
				caught = caught || c.read(Step{step, rows}, &decisions[step]) != nil
			}
			// Within a step, rapid gives slots to others only where it has no use for what was in them.
			if !caught && !(rules.Kind == Rapid && early == 0) {
				t.Errorf("%v, slots written %d steps early: not caught", rules.Kind, early)
			}
		}
	}
}

// Traces that nobody drew: a byte is a row of the step, 255 ends it.
func FuzzDecide(f *testing.F) {
	f.Add(uint8(3), []byte{1, 2, 3, 255, 2, 3, 255, 255, 1, 9, 255, 2})
	f.Add(uint8(0), []byte{7, 255, 7})
	f.Fuzz(func(t *testing.T, slots uint8, text []byte) {
		tr := trace{nil}
		for _, b := range text {
			last := len(tr) - 1
			switch {
			case b == 255:
				tr = append(tr, nil)
			case !slices.Contains(tr[last], graph.NodeID(b)):
				tr[last] = append(tr[last], graph.NodeID(b))
			}
		}
		r := rand.New(rand.NewPCG(uint64(slots), uint64(len(text))))
		w := tr.world(r, 255)
		for _, rules := range settings(r) {
			p := New(rules, int(slots), w)
			tr.run(newCache(t, len(p.Held())), p, 0, len(tr))
		}
	})
}
