package rowcache

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// massive keeps rows by MassiveGNN's two scores (Algorithms 1 and 2). It begins with the halo vertices of highest degree. A row that is held has an eviction score
// S_E, at first 1, which every step that does not read the row multiplies by γ. A row that is not held has an access score S_A, at first 0, to which every step that
// reads it adds 1. Every Δ steps the rows with S_E < γ^Δ, or below Rules.Alpha, leave for the rows with the largest S_A, one for one: the row that leaves has its S_E as S_A from then on,
// and the one that comes its S_A as S_E.
//
// What the paper leaves open: steps with an eviction count misses, too, and do so before it; only rows with S_A > 0 come; where fewer come than may leave, those with the
// lowest S_E leave. Rows of all hops have scores. Ties: higher degree, lower id.
//
// A step costs its reads, not the slots: S_E is kept as it was at some step, with the steps since then that have read the row.
type massive struct {
	clock
	held
	first  []graph.NodeID // that it begins with, by slot
	gamma  float64
	alpha  float64
	delta  int
	degree func(graph.NodeID) int
	powers []float64 // γ^m, each the one before times γ

	passed int64    // steps decided
	scores []score  // S_E, by slot
	number []int32  // by vertex: where it is in access, if access says so, too
	access []access // S_A of the rows that are not held and were read, or were held; in order of first sight
	list   []int32  // scratch of best
}

// score is S_E: value times γ for each of the steps since then that has not read the row.
type score struct {
	value float64
	since int64 // steps decided when it had that value
	reads int64 // steps since then that have read the row
}

// access is S_A of a row.
type access struct {
	score float64 // 0 while the row has a slot
	id    graph.NodeID
	fetch int32 // number in Decision.Fetch, where it was fetched in this step
}

// tabled is how many powers of γ are kept at least.
const tabled = 1024

func newMassive(r Rules, slots int, w World) *massive {
	first := slices.Clone(w.Halo)
	slices.SortFunc(first, func(a, b graph.NodeID) int { return cmp.Or(w.Degree(b)-w.Degree(a), int(a-b)) })
	first = first[:min(slots, int(r.Share*float64(len(first))))]
	p := &massive{held: newHeld(len(first), w.Vertices), first: first, gamma: r.Gamma, delta: r.Delta, degree: w.Degree, scores: make([]score, len(first)), number: make([]int32, w.Vertices)}
	p.powers = append(p.powers, 1)
	for m := 1; m <= max(tabled, r.Delta); m++ {
		p.powers = append(p.powers, p.powers[m-1]*r.Gamma)
	}
	p.alpha = cmp.Or(r.Alpha, p.powers[r.Delta])
	return p
}

func (p *massive) Decide(s Step, d *Decision) {
	begins := !p.known
	p.take(s.Number)
	d.reset(len(s.Rows))
	if begins {
		for slot, v := range p.first {
			p.put(int32(slot), v)
			p.scores[slot] = score{value: 1}
		}
	}
	p.passed++
	for i, v := range s.Rows {
		slot := p.slot(v)
		switch {
		case slot < 0:
			a := p.of(v)
			a.score++
			a.fetch = int32(d.fetch(i, v, -1))
			continue
		case begins:
			d.fetch(i, v, slot)
		default:
			d.From[i] = slot
		}
		p.scores[slot].reads++
	}
	if begins {
		for slot, v := range p.ids {
			if p.scores[slot].reads == 0 {
				d.Fetch = append(d.Fetch, Fetched{v, int32(slot), -1})
			}
		}
	}
	if p.passed%int64(p.delta) == 0 && !begins { // rows on their way to a slot do not leave
		p.round(d)
	}
}

// of returns the access score of a row.
func (p *massive) of(v graph.NodeID) *access {
	n := p.number[v]
	if int(n) >= len(p.access) || p.access[n].id != v {
		n = int32(len(p.access))
		p.number[v] = n
		p.access = append(p.access, access{id: v})
	}
	return &p.access[n]
}

// leaver is a row that may leave.
type leaver struct {
	slot  int32
	score float64
}

// round exchanges rows.
func (p *massive) round(d *Decision) {
	var leave []leaver
	for slot := range p.scores {
		if p.below(slot) {
			leave = append(leave, leaver{int32(slot), p.now(slot)})
		}
	}
	come := p.best(len(leave))
	slices.SortFunc(leave, func(a, b leaver) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(p.ids[a.slot], p.ids[b.slot]))
	})
	for i, n := range come {
		l, a := leave[i], p.access[n]
		p.of(p.ids[l.slot]).score = l.score
		p.put(l.slot, a.id)
		p.scores[l.slot] = score{value: a.score, since: p.passed}
		p.access[n].score = 0
		if k := int(a.fetch); k < len(d.Fetch) && d.Fetch[k].ID == a.id {
			d.Fetch[k].Slot = l.slot
		} else {
			d.Fetch = append(d.Fetch, Fetched{a.id, l.slot, -1})
		}
		d.Evicted++
	}
}

// unread returns how many steps have not read the row of a slot since its score had the value that is kept.
func (p *massive) unread(slot int) int64 {
	return p.passed - p.scores[slot].since - p.scores[slot].reads
}

// below reports whether S_E of a slot is below α. A product with a power of γ tells, unless it is so near that rounding decides, or so small that numbers have fewer
// digits: m products have an error of m halves of the last digit at most.
func (p *massive) below(slot int) bool {
	m := p.unread(slot)
	if m < int64(len(p.powers)) && p.alpha > 1e-290 {
		x, digits := p.scores[slot].value*p.powers[m], float64(4*(m+1))*0x1p-53
		if x*(1+digits) < p.alpha {
			return true
		}
		if x*(1-digits) >= p.alpha {
			return false
		}
	}
	return p.now(slot) < p.alpha
}

// now returns S_E of a slot, product by product as the paper has it, and keeps it.
func (p *massive) now(slot int) float64 {
	s := &p.scores[slot]
	for range p.unread(slot) {
		s.value *= p.gamma
	}
	s.since, s.reads = p.passed, 0
	return s.value
}

// best returns where in access the rows are that come first, in order, at most k: those with the largest S_A above 0.
func (p *massive) best(k int) []int32 {
	p.list = p.list[:0]
	for n := range p.access {
		if p.access[n].score > 0 {
			p.list = append(p.list, int32(n))
		}
	}
	if k < len(p.list) {
		p.divide(p.list, k)
	}
	first := p.list[:min(k, len(p.list))]
	slices.SortFunc(first, p.before)
	return first
}

// divide brings those that come first to the first k places of a longer list (Hoare's quickselect).
func (p *massive) divide(list []int32, k int) {
	for lo, hi := 0, len(list)-1; lo < hi; {
		three := [3]int32{list[lo], list[(lo+hi)/2], list[hi]}
		slices.SortFunc(three[:], p.before)
		i, j := lo, hi
		for i <= j {
			for p.before(list[i], three[1]) < 0 {
				i++
			}
			for p.before(list[j], three[1]) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

// before orders rows by S_A, degree and id.
func (p *massive) before(i, j int32) int {
	a, b := &p.access[i], &p.access[j]
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Or(p.degree(b.id)-p.degree(a.id), int(a.id-b.id))
}

// Save has, behind ids, the steps decided, S_E by slot and S_A by row.
func (p *massive) Save() []byte {
	s := newState(Massive, p.clock, p.ids)
	s.put(uint64(p.passed))
	for slot := range p.scores {
		s.put(math.Float64bits(p.now(slot)))
	}
	s.put(uint64(len(p.access)))
	for _, a := range p.access {
		s.put(uint64(a.id))
		s.put(math.Float64bits(a.score))
	}
	return s.bytes
}

func (p *massive) Restore(b []byte) error {
	q := *p
	q.held, q.scores = newHeld(len(p.ids), len(p.number)), make([]score, len(p.ids))
	q.number, q.access = make([]int32, len(p.number)), nil
	s, c, err := readState(b, Massive, q.ids, len(p.number))
	if err != nil {
		return err
	}
	for slot, v := range q.ids {
		if v >= 0 {
			q.put(int32(slot), v)
		}
	}
	q.clock, q.passed = c, int64(s.get())
	for slot := range q.scores {
		q.scores[slot] = score{value: s.score(), since: q.passed}
	}
	for range s.get() {
		if s.err != nil {
			break
		}
		v := s.get()
		if v >= uint64(len(q.number)) || int(q.of(graph.NodeID(v)).id) != int(v) {
			return fmt.Errorf("access score of %d, which is no vertex", v)
		}
		q.of(graph.NodeID(v)).score = s.score()
	}
	if err := s.end(); err != nil {
		return err
	}
	if full := slices.Index(q.ids, -1) < 0; q.passed < 0 || q.known != (q.passed > 0) || q.known && !full {
		return fmt.Errorf("cached rows behind %d steps: slots are empty, or steps do not agree", q.passed)
	}
	*p = q
	return nil
}

func (s *state) score() float64 {
	x := math.Float64frombits(s.get())
	if !(x >= 0 && x <= math.MaxFloat64) && s.err == nil {
		s.err = fmt.Errorf("score %v of a cached row", x)
	}
	return x
}
