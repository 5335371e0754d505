package multilevel

import (
	"cmp"
	"slices"
)

// begin makes try i of a bisection: sides grown to their share, sides packed with components that are cut where that is cheap and, if
// there are several components, sides packed with whole ones. From the third try on components are packed in another order each time.
func (f *climber) begin(s *state, components [][]int32, share float64, i int, r *random) {
	if i > 1 {
		components = s.g.jumble(components, r)
	}
	switch {
	case i%2 == 0:
		f.pack(s, components, false, r)
	case i%4 == 1 && len(components) > 1:
		f.pack(s, components, true, r)
	default:
		f.grow(s, share, r)
	}
}

// grow moves vertices from side 1 to side 0 until that has its share: from a random vertex on, always the vertex that is joined
// most strongly, then from the next random vertex if there are no neighbours left.
func (f *climber) grow(s *state, share float64, r *random) {
	n := s.g.n
	f.heap.fit(n)
	total := s.g.total()
	order := make([]int32, n)
	for v := range order {
		order[v] = int32(v)
	}
	r.shuffle(order)
	full := func() bool {
		fill, kinds := 0.0, 0
		for c, t := range total {
			if t > 0 {
				fill += float64(s.load[c]) / float64(t)
				kinds++
			}
		}
		return kinds == 0 || fill >= share*float64(kinds)
	}
	next := 0
	for !full() {
		if f.heap.len() == 0 {
			for next < n && s.part[order[next]] == 0 {
				next++
			}
			if next == n {
				break
			}
			f.heap.set(order[next], 0)
			next++
		}
		v, _ := f.heap.pop()
		if s.count[1] <= 1 {
			break
		}
		if s.fits(v, 0) {
			f.take(s, v)
		}
	}
	f.heap.clear()
}

// take moves v to side 0 and offers its neighbours.
func (f *climber) take(s *state, v int32) {
	s.move(v, 0)
	adj, _ := s.g.row(v)
	for _, u := range adj {
		if s.part[u] == 1 {
			f.heap.set(u, int64(s.near[2*u])-int64(s.near[2*u+1]))
		}
	}
}

// pack fills two sides with whole components.
//
// Method: components go, heaviest first, to the side that is emptier and has room. One that has no room on either is cut by halve or,
// with whole, goes where there is more room nevertheless: rebalancing takes off what costs least then.
//
// Why: a side that is grown until it has its share ends in the middle of whatever component comes last. Where small components can
// make up for it, a large one need not be cut in the middle (halve). Where several large ones have loose ends, these are
// cheaper than a cut through one (whole). On dblp and ppi, one large component and four, cuts of two parts are a quarter and a half
// lower.
func (f *climber) pack(s *state, components [][]int32, whole bool, r *random) {
	f.heap.fit(s.g.n)
	m := s.lim.kinds
	// Everything is on side 1 until it is moved: rest is what has not been decided.
	rest := slices.Clone(s.load[m:])
	for _, members := range components {
		weight := s.g.weigh(members)
		fits := [2]bool{true, true}
		for c, w := range weight {
			fits[0] = fits[0] && s.load[c]+w <= s.lim.bound[c]
			fits[1] = fits[1] && s.load[m+c]-rest[c]+w <= s.lim.bound[m+c]
		}
		more := s.load[0]*s.lim.bound[m] <= (s.load[m]-rest[0])*s.lim.bound[0] // side 0 is the emptier one
		for c, w := range weight {
			rest[c] -= w
		}
		switch {
		case fits == [2]bool{} && !whole:
			f.halve(s, members, rest, r)
		case fits[0] == fits[1] && more, fits[0] && !fits[1]:
			for _, v := range members {
				s.move(v, 0)
			}
		}
	}
}

// weigh returns the weight of vertices per constraint.
func (g *level) weigh(vertices []int32) []int64 {
	sum := make([]int64, len(g.weight))
	for c := range sum {
		for _, v := range vertices {
			sum[c] += g.of(c, v)
		}
	}
	return sum
}

// halve moves some of these vertices, a component on side 1, to side 0; rest is the weight on side 1 that is still to be decided.
func (f *climber) halve(s *state, members []int32, rest []int64, r *random) {
	m := s.lim.kinds
	f.log = f.log[:0]
	var cut, least int64
	kept := -1
	f.heap.set(members[r.below(len(members))], 0)
	for f.heap.len() > 0 {
		v, _ := f.heap.pop()
		if !s.fits(v, 0) {
			continue
		}
		cut += int64(s.near[2*v+1]) - int64(s.near[2*v])
		f.take(s, v)
		f.log = append(f.log, step{v, 1})
		fits := true
		for c := range m {
			fits = fits && s.load[m+c]-rest[c] <= s.lim.bound[m+c]
		}
		if fits && (kept < 0 || cut < least) {
			least, kept = cut, len(f.log)
		}
	}
	if kept < 0 {
		return
	}
	for i := len(f.log) - 1; i >= kept; i-- {
		s.move(f.log[i].v, 1)
	}
}

// jumble returns components in the order of their weights times a random factor between one and two: those of about equal weight
// change places, crumbs stay behind.
//
// Why: which components share a side decides whose loose ends are cut off. Packed heaviest first, ppi in two parts never had the
// pair on one side that leaves the cheapest ends on the other.
func (g *level) jumble(components [][]int32, r *random) [][]int32 {
	type ranked struct {
		members []int32
		rank    int64
	}
	order := make([]ranked, len(components))
	for i, members := range components {
		order[i] = ranked{members, g.weigh(members)[0] * int64(256+r.below(256))}
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return cmp.Compare(b.rank, a.rank) })
	out := make([][]int32, len(order))
	for i, o := range order {
		out[i] = o.members
	}
	return out
}

// components returns the vertices of every connected component, the heaviest in the first constraint first.
func (g *level) components() [][]int32 {
	seen := make([]bool, g.n)
	var all [][]int32
	for first := range int32(g.n) {
		if seen[first] {
			continue
		}
		seen[first] = true
		members := []int32{first}
		for i := 0; i < len(members); i++ {
			adj, _ := g.row(members[i])
			for _, u := range adj {
				if !seen[u] {
					seen[u] = true
					members = append(members, u)
				}
			}
		}
		all = append(all, members)
	}
	slices.SortStableFunc(all, func(a, b []int32) int { return cmp.Compare(g.weigh(b)[0], g.weigh(a)[0]) })
	return all
}
