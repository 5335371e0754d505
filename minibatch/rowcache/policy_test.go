package rowcache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// settings are the policies of random tests.
func settings(r *rand.Rand) []Rules {
	return []Rules{{}, {Kind: Planned, Lookahead: 1 + r.IntN(9)}, {Kind: Planned, Lookahead: All}}
}

// Decisions of random traces do what cache checks; a policy that is restored in between decides equally, and so does one that begins again.
func TestPolicies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for round := range 300 {
		n := 1 + r.IntN(60)
		tr := randomTrace(r, 2+r.IntN(40), n, 1+r.IntN(n))
		slots := r.IntN(n + 3)
		w := World{Vertices: n, Ahead: tr.ahead}
		for _, rules := range settings(r) {
			t.Run(fmt.Sprint(round, rules), func(t *testing.T) {
				p, again := New(rules, slots, w), New(rules, slots, w)
				c := newCache(t, min(slots, n))
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
	w := World{Vertices: 30, Ahead: tr.ahead}
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
		c := newCache(t, 7)
		copy(c.rows, p.Held())
		saved := p.Save()
		if q := New(rules[max(0, k)%len(rules)], 7, w); q.Restore(saved) != nil {
			t.Fatal("what was saved is refused")
		}
	})
}

func TestRules(t *testing.T) {
	for _, r := range []Rules{{Kind: -1}, {Kind: Kind(len(kinds))}, {Kind: Planned, Lookahead: -1}} {
		if r.Validate() == nil {
			t.Errorf("%+v is valid", r)
		}
	}
	for k := range kinds {
		if got, err := ParseKind(Kind(k).String()); got != Kind(k) || err != nil {
			t.Errorf("%v is read as %v: %v", Kind(k), got, err)
		}
	}
	if _, err := ParseKind("lru"); err == nil {
		t.Error("lru is a way to fetch rows")
	}
}

// Steps come in order, each once.
func TestStepsComeInOrder(t *testing.T) {
	for _, rules := range settings(rand.New(rand.NewPCG(6, 1))) {
		p := New(rules, 2, World{Vertices: 3, Ahead: trace{}.ahead})
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
