package rowcache

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// optimum is the fewest rows that can be fetched for a trace over few vertices, found by trying everything: behind each step the cache holds any rows that it held
// or that the step read, as many as there are slots.
func optimum(tr trace, slots int) int {
	cost := map[uint]int{0: 0} // by the set of rows held
	for _, rows := range tr {
		read := uint(0)
		for _, v := range rows {
			read |= 1 << v
		}
		next := map[uint]int{}
		for held, n := range cost {
			n += bits.OnesCount(read &^ held)
			all := held | read
			for keep := all; ; keep = (keep - 1) & all {
				if m, ok := next[keep]; bits.OnesCount(keep) <= slots && (!ok || n < m) {
					next[keep] = n
				}
				if keep == 0 {
					break
				}
			}
		}
		cost = next
	}
	best := math.MaxInt
	for _, n := range cost {
		best = min(best, n)
	}
	return best
}

// With all steps ahead no policy fetches fewer rows.
func TestPlannedIsOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		n := 1 + r.IntN(7)
		tr := randomTrace(r, 1+r.IntN(8), n, 1+r.IntN(n))
		slots := r.IntN(n + 1)
		c := newCache(t, slots)
		tr.run(c, New(Rules{Kind: Planned, Lookahead: All}, slots, tr.world(r, n)), 0, len(tr))
		if want := optimum(tr, slots); c.fetched != want {
			t.Fatalf("%d slots, steps %v: %d rows fetched, %d suffice", slots, tr, c.fetched, want)
		}
	}
}

// slowPlanned is what planned says, on lists: it looks reads up in the trace.
type slowPlanned struct {
	tr    trace
	slots int
	look  int
	w     World
	rows  []graph.NodeID
}

// read is a read of a row: in which step, and where in it.
type read struct{ step, at int }

func (a read) before(b read) bool { return a.step < b.step || a.step == b.step && a.at < b.at }

// next returns the next read of v behind a step, if it is one of those known.
func (p *slowPlanned) next(v graph.NodeID, step int) (r read, known bool) {
	for t := step + 1; t < len(p.tr) && t <= step+min(p.look, 4+3*step); t++ {
		if at := slices.Index(p.tr[t], v); at >= 0 {
			return read{t, at}, true
		}
	}
	return read{}, false
}

// farther reports whether a is to leave before b behind a step.
func (p *slowPlanned) farther(a, b graph.NodeID, step int) bool {
	x, known := p.next(a, step)
	y, also := p.next(b, step)
	if known != also {
		return !known
	}
	if x, y := p.w.Degree(a), p.w.Degree(b); !known && x != y {
		return x < y
	}
	if !known {
		return a > b
	}
	return y.before(x)
}

// decide returns the rows of the step that are fetched.
func (p *slowPlanned) decide(step int) (fetched []graph.NodeID) {
	all := slices.Clone(p.rows)
	for _, v := range p.tr[step] {
		if !slices.Contains(p.rows, v) {
			fetched, all = append(fetched, v), append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b graph.NodeID) int {
		if p.farther(a, b, step) {
			return 1
		}
		return -1
	})
	p.rows = all[:min(len(all), p.slots)]
	return fetched
}

// sorted returns the rows that are held, ascending.
func sorted(rows []graph.NodeID) []graph.NodeID {
	out := slices.DeleteFunc(slices.Clone(rows), func(v graph.NodeID) bool { return v < 0 })
	slices.Sort(out)
	return out
}

func TestPlannedEqualsItsTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 400 {
		n := 1 + r.IntN(40)
		tr := randomTrace(r, 1+r.IntN(30), n, 1+r.IntN(n))
		slots, look := r.IntN(n+1), 1+r.IntN(12)
		w := tr.world(r, n)
		p := New(Rules{Kind: Planned, Lookahead: look}, slots, w)
		far, looks := p.(*planned)
		if looks == (slots == n) {
			t.Fatalf("%d slots for %d rows: %T", slots, n, p)
		}
		if looks && r.IntN(2) == 0 { // numbers of reads pass 32 bits
			far.reads.first = 1<<32 - int64(r.IntN(300))
			far.reads.end = far.reads.first
		}
		twin := slowPlanned{tr: tr, slots: slots, look: look, w: w}
		c := newCache(t, slots)
		var d Decision
		for step, rows := range tr {
			s := Step{step, rows}
			p.Decide(s, &d)
			c.do(p, s, &d)
			var fetched []graph.NodeID
			for _, f := range d.Fetch {
				fetched = append(fetched, f.ID)
			}
			if want := twin.decide(step); !slices.Equal(fetched, want) {
				t.Fatalf("step %d of %v, %d slots, %d steps ahead: fetched %v, want %v", step, tr, slots, look, fetched, want)
			}
			if got, want := sorted(p.Held()), sorted(twin.rows); !slices.Equal(got, want) {
				t.Fatalf("step %d of %v, %d slots, %d steps ahead: holds %v, want %v", step, tr, slots, look, got, want)
			}
		}
	}
}

// A step that reads other rows than were announced is a mistake of the caller.
func TestPlannedRefusesOtherRows(t *testing.T) {
	tr := trace{{0, 1}, {1, 2}}
	p := New(Rules{Kind: Planned}, 2, tr.world(rand.New(rand.NewPCG(1, 3)), 3))
	var d Decision
	p.Decide(Step{0, tr[0]}, &d)
	defer func() {
		if recover() == nil {
			t.Error("a step that reads other rows than were announced is decided")
		}
	}()
	p.Decide(Step{1, []graph.NodeID{2, 1}}, &d)
}
