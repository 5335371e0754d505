package rowcache

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/graph"
)

// slowMassive is Algorithms 1 and 2 of MassiveGNN as they are printed, but for what the doc comment of massive says of open points.
type slowMassive struct {
	tr           trace
	w            World
	gamma, alpha float64
	delta        int
	evict        map[graph.NodeID]float64 // S_E of BUF
	access       map[graph.NodeID]float64 // S_A of the others
	steps        int
}

func newSlowMassive(tr trace, r Rules, slots int, w World) *slowMassive {
	p := &slowMassive{tr: tr, w: w, gamma: r.Gamma, alpha: 1, delta: r.Delta, evict: map[graph.NodeID]float64{}, access: map[graph.NodeID]float64{}}
	for range r.Delta {
		p.alpha *= r.Gamma
	}
	if r.Alpha > 0 {
		p.alpha = r.Alpha
	}
	halo := slices.Clone(w.Halo)
	slices.SortFunc(halo, func(a, b graph.NodeID) int { return cmp.Or(w.Degree(b)-w.Degree(a), int(a-b)) })
	for _, v := range halo[:min(slots, int(r.Share*float64(len(halo))))] {
		p.evict[v] = 1
	}
	return p
}

// decide returns the rows that a step fetches: those that it reads, and the others.
func (p *slowMassive) decide(step int) (fetched, others []graph.NodeID) {
	first := p.steps == 0
	p.steps++
	for n := range p.evict {
		if !slices.Contains(p.tr[step], n) {
			p.evict[n] *= p.gamma
			if first {
				others = append(others, n)
			}
		}
	}
	for _, n := range p.tr[step] {
		_, hit := p.evict[n]
		if !hit {
			p.access[n]++
		}
		if !hit || first {
			fetched = append(fetched, n)
		}
	}
	if p.steps%p.delta == 0 && !first { // in which none is below γ^Δ
		for _, m := range p.exchange() {
			if !slices.Contains(fetched, m) {
				others = append(others, m)
			}
		}
	}
	return fetched, others
}

// exchange is EVICT_AND_REPLACE. It returns the replacements.
func (p *slowMassive) exchange() (come []graph.NodeID) {
	var leave []graph.NodeID
	for n, score := range p.evict {
		if score < p.alpha {
			leave = append(leave, n)
		}
	}
	for m, score := range p.access {
		if score > 0 {
			come = append(come, m)
		}
	}
	slices.SortFunc(leave, func(a, b graph.NodeID) int { return cmp.Or(cmp.Compare(p.evict[a], p.evict[b]), int(a-b)) })
	slices.SortFunc(come, func(a, b graph.NodeID) int {
		return cmp.Or(cmp.Compare(p.access[b], p.access[a]), p.w.Degree(b)-p.w.Degree(a), int(a-b))
	})
	k := min(len(leave), len(come))
	leave, come = leave[:k], come[:k]
	for i := range k {
		n, m := leave[i], come[i]
		p.evict[m], p.access[n] = p.access[m], p.evict[n]
		delete(p.evict, n)
		delete(p.access, m)
	}
	return come
}

// Rows and both scores are those of the paper's loop, to the bit.
func TestMassiveEqualsThePapersLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 400 {
		n := 1 + r.IntN(40)
		tr := randomTrace(r, 1+r.IntN(80), n, 1+r.IntN(n))
		slots, w := r.IntN(n+1), tr.world(r, n)
		gamma := []float64{0.5 + r.Float64()/2, 0.95, 1e-200, 1}[r.IntN(4)]
		rules := Rules{Kind: Massive, Share: 1 - r.Float64(), Gamma: gamma, Delta: 1 + r.IntN(8), Alpha: []float64{0, 0.5, r.Float64()}[r.IntN(3)]}
		p := New(rules, slots, w).(*massive)
		p.powers = p.powers[:rules.Delta+1] // more than so many steps are multiplied one by one
		twin := newSlowMassive(tr, rules, slots, w)
		c := newCache(t, len(p.Held()))
		var d Decision
		for step, rows := range tr {
			s := Step{step, rows}
			p.Decide(s, &d)
			c.do(p, s, &d)
			fetched, others := split(&d)
			want, more := twin.decide(step)
			if slices.Sort(more); !slices.Equal(fetched, want) || !slices.Equal(others, more) {
				t.Fatalf("step %d of %v, %d slots, %+v: fetched %v and %v, want %v and %v", step, tr, slots, rules, fetched, others, want, more)
			}
			if r.IntN(3) == 0 {
				compareScores(t, p, twin)
			}
		}
		compareScores(t, p, twin)
	}
}

// With the paper's threshold no row that began in the buffer leaves in the first round, whatever γ is; with a threshold apart from γ, γ decides.
func TestMassiveThreshold(t *testing.T) {
	const steps = 8
	for _, c := range []struct {
		gamma, alpha float64
		leaves       bool
	}{{0.5, 0, false}, {0.99, 0, false}, {0.5, 0.5, true}, {0.99, 0.5, false}} {
		p := New(Rules{Kind: Massive, Share: 0.5, Gamma: c.gamma, Delta: steps, Alpha: c.alpha}, 10, World{Vertices: 10, Halo: []graph.NodeID{1, 2}, Degree: func(v graph.NodeID) int { return 9 - int(v) }})
		var d Decision
		for step := range steps { // 1 is held and never read, 2 is missed
			p.Decide(Step{Number: step, Rows: []graph.NodeID{2}}, &d)
		}
		if got := d.Evicted == 1; got != c.leaves {
			t.Errorf("γ %v, α %v: %v, want %v", c.gamma, c.alpha, got, c.leaves)
		}
	}
}

func compareScores(t *testing.T, p *massive, twin *slowMassive) {
	t.Helper()
	for slot, v := range p.ids {
		if got, want := p.now(slot), twin.evict[v]; got != want || len(p.ids) != len(twin.evict) {
			t.Fatalf("S_E of %d is %v, want %v", v, got, want)
		}
	}
	for _, a := range p.access {
		if a.score != twin.access[a.id] {
			t.Fatalf("S_A of %d is %v, want %v", a.id, a.score, twin.access[a.id])
		}
	}
}

// Fig. 4 of MassiveGNN: 22, 98, 21, 45 and 9 are held, γ = 0.5, Δ = 2. Behind the second batch 98 and 45 have γ², which is not below α = γ²; behind the fourth γ³ and γ⁴,
// and 34 and 24, missed three times each, take their places. Vertices that are not in the figure's tables are the part's own. Its table does not count that the
// fourth batch misses 33.
func TestMassiveFigure4(t *testing.T) {
	const gamma = 0.5
	halo := []graph.NodeID{11, 21, 34, 98, 24, 16, 33, 22, 45, 9}
	prefetched := []graph.NodeID{22, 98, 21, 45, 9}
	batches := [][]graph.NodeID{
		{11, 2, 21, 44, 75, 16, 7, 8, 9}, {20, 21, 22, 23, 24, 1, 9, 27, 34}, {1, 54, 34, 98, 99, 24, 21, 9, 8}, {34, 24, 2, 5, 21, 22, 33, 9, 20},
	}
	degree := func(v graph.NodeID) int {
		if k := slices.Index(prefetched, v); k >= 0 {
			return 10 - k
		}
		return 1
	}
	p := New(Rules{Kind: Massive, Share: 0.5, Gamma: gamma, Delta: 2}, 100, World{Vertices: 100, Halo: halo, Degree: degree}).(*massive)
	const g, gg, ggg, gggg = gamma, gamma * gamma, gamma * gamma * gamma, gamma * gamma * gamma * gamma
	evict := [][]float64{{g, g, 1, g, 1}, {g, gg, 1, gg, 1}, {gg, gg, 1, ggg, 1}, {gg, 3, 1, 3, 1}} // of prefetched; at last 24 and 34 are there
	access := []map[graph.NodeID]float64{{11: 1, 16: 1}, {11: 1, 16: 1, 34: 1, 24: 1}, {11: 1, 16: 1, 34: 2, 24: 2}, {11: 1, 16: 1, 33: 1, 98: ggg, 45: gggg}}
	c := newCache(t, 5)
	var d Decision
	for k, batch := range batches {
		s := Step{Number: k}
		for _, v := range batch {
			if slices.Contains(halo, v) {
				s.Rows = append(s.Rows, v)
			}
		}
		p.Decide(s, &d)
		c.do(p, s, &d)
		for slot, want := range evict[k] {
			if got := p.now(slot); got != want {
				t.Errorf("batch %d: S_E of slot %d, %d at first, is %v, want %v", k+1, slot, prefetched[slot], got, want)
			}
		}
		for _, a := range p.access {
			if a.score != access[k][a.id] {
				t.Errorf("batch %d: S_A of %d is %v, want %v", k+1, a.id, a.score, access[k][a.id])
			}
		}
		want := prefetched
		if k == 3 {
			want = []graph.NodeID{22, 34, 21, 24, 9} // lowest S_E, 45's, for the first of equal S_A, by id
		}
		if !slices.Equal(p.Held(), want) {
			t.Errorf("batch %d: slots hold %v, want %v", k+1, p.Held(), want)
		}
	}
}
