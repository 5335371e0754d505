package minibatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// places are the ways in which roots of one order over all parts can be placed.
var places = []Place{Batch, Home, Hop}

// kindOfRoots is a choice of roots and of where they are computed. With Hop a time step is merged, and another one tried in vain: that does not hang on the time.
type kindOfRoots struct {
	place Place
	local bool
}

// set makes a run have such roots.
func (k kindOfRoots) set(s *Sampling) {
	s.Local, s.Place, s.Merged, s.NoGather = k.local, k.place, nil, false
	if one := 1; k.place == Hop {
		s.Merged = &one
	}
}

// scattered are the choices with one order over all parts.
func scattered() (all []kindOfRoots) {
	for _, place := range places {
		all = append(all, kindOfRoots{place: place})
	}
	return all
}

// wired returns a graph of so many vertices whose rows are those given.
func wired(n int, rows map[int][]graph.NodeID) *graph.CSR {
	g := &graph.CSR{Cols: n, Indptr: []int64{0}}
	for v := range n {
		g.Indices = append(g.Indices, rows[v]...)
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
	}
	return g
}

// Roots go to their homes; of what a home has beyond 1.05 times its target, those go elsewhere that lose the fewest neighbours by it, to where most of their neighbours are.
func TestRootsAtHome(t *testing.T) {
	type assigned [][]graph.NodeID
	type rows = map[int][]graph.NodeID
	for _, c := range []struct {
		name   string
		home   string // by vertex: its home, as a digit
		roots  int    // the first vertices
		rows   rows
		shares []float64
		parts  int
		want   assigned
	}{
		{"balanced", "0121020", 7, nil, nil, 3, assigned{{0, 4, 6}, {1, 3}, {2, 5}}},
		{"without neighbours the first go, to the emptiest", "00000012", 8, nil, nil, 3, assigned{{3, 4, 5}, {0, 2, 6}, {1, 7}}},
		{"all at one home", "1111", 4, nil, nil, 2, assigned{{0, 1}, {2, 3}}},
		{"1.05 times the mean stay", "0000000000000000000001111111111111111111", 40, nil, nil, 2, assigned{upTo(0, 21), upTo(21, 40)}},
		{"and no more", "0000000000000000000000111111111111111111", 40, nil, nil, 2, assigned{upTo(1, 22), append([]graph.NodeID{0}, upTo(22, 40)...)}},
		{"targets", "000000", 6, nil, []float64{1, 2}, 2, assigned{{4, 5}, {0, 1, 2, 3}}},
		{"no target", "0101", 4, nil, []float64{0, 3}, 2, assigned{{}, {0, 1, 2, 3}}},
		{"more parts than roots", "33", 2, nil, nil, 5, assigned{{0}, {}, {}, {1}, {}}},
		{"no root", "", 0, nil, nil, 3, assigned{{}, {}, {}}},
		{"who has neighbours elsewhere", "0000112", 4, rows{0: {1, 2}, 1: {0, 4}, 2: {6, 6, 0}, 3: {0}}, nil, 3, assigned{{0, 3}, {1}, {2}}},
		{"who has fewer", "0000" + "0000", 4, rows{0: {4, 5}, 1: {4, 5, 6}, 2: {4}, 3: {4, 5, 6}}, nil, 2, assigned{{1, 3}, {0, 2}}},
		{"the share of the sample counts", "0000" + "00000011", 4, rows{0: {4, 5}, 1: {4, 5, 6, 7, 10, 11}, 2: {4, 5}, 3: {4, 5}}, nil, 2, assigned{{2, 3}, {0, 1}}},
		{"first to where most are, then where there is room", "000000" + "12", 6, rows{0: {6, 6}, 1: {6, 6}, 2: {6, 6}, 3: {6, 7, 6}, 4: {7}, 5: {0}}, nil, 3, assigned{{4, 5}, {0, 1}, {2, 3}}},
	} {
		var home []int32
		for _, d := range c.home {
			home = append(home, int32(d-'0'))
		}
		roots, ends := upTo(0, c.roots), make([]int, c.parts)
		newAssigner(wired(len(home), c.rows), 2, home, c.parts, c.shares).atHome(roots, ends)
		lo := 0
		for part, hi := range ends {
			if !slices.Equal(roots[lo:hi], c.want[part]) {
				t.Errorf("%s: part %d has roots %v, want %v", c.name, part, roots[lo:hi], c.want[part])
			}
			lo = hi
		}
	}
}

// upTo returns the vertices lo..hi-1.
func upTo(lo, hi int) (out []graph.NodeID) {
	for v := lo; v < hi; v++ {
		out = append(out, graph.NodeID(v))
	}
	return out
}

// assignedSlowly is where assigner.atHome is to have roots computed, with limits by part, found root by root.
func assignedSlowly(g *graph.CSR, fanout int, home []int32, roots []graph.NodeID, limit []int, target []float64) map[graph.NodeID]int {
	at, count := map[graph.NodeID]int{}, make([]int, len(limit))
	for _, v := range roots {
		at[v] = int(home[v])
		count[home[v]]++
	}
	neighbours := func(v graph.NodeID, part int) (n int) {
		for _, u := range g.Row(int(v)) {
			if int(home[u]) == part {
				n++
			}
		}
		return n
	}
	goal := func(v graph.NodeID) int {
		best := -1
		for part := range limit {
			more := best < 0
			if !more {
				a, b := neighbours(v, part), neighbours(v, best)
				more = a > b || a == b && float64(count[part])/target[part] < float64(count[best])/target[best]
			}
			if count[part] < limit[part] && more {
				best = part
			}
		}
		return best
	}
	for part := range limit {
		type ratio struct{ up, down int }
		lost := map[graph.NodeID]ratio{}
		for _, v := range roots {
			if degree := len(g.Row(int(v))); int(home[v]) == part && count[part] > limit[part] {
				lost[v] = ratio{min(fanout, degree) * (neighbours(v, part) - neighbours(v, goal(v))), max(1, degree)}
			}
		}
		for count[part] > limit[part] {
			var first graph.NodeID = -1
			for _, v := range roots {
				if l, left := lost[v]; left && (first < 0 || l.up*lost[first].down < lost[first].up*l.down) {
					first = v
				}
			}
			at[first] = goal(first)
			count[at[first]]++
			count[part]--
			delete(lost, first)
		}
	}
	return at
}

// Whatever graph, homes and shares are, roots are where a slow twin has them: no part has more than 1.05 times its target or the next whole number, and no root
// leaves a home that has room for it.
func TestHomesAreBalanced(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		parts, n := 1+r.IntN(8), r.IntN(200)
		shares, all := make([]float64, parts), 0.0
		for part := range shares {
			shares[part] = float64(r.IntN(4))
		}
		shares[r.IntN(parts)] = 0.7
		for _, s := range shares {
			all += s
		}
		home, full, rows := make([]int32, n), 1+r.IntN(parts), map[int][]graph.NodeID{}
		for v := range home {
			home[v] = int32(r.IntN(full))
			for range r.IntN(9) {
				rows[v] = append(rows[v], graph.NodeID(r.IntN(n)))
			}
		}
		limit, target := make([]int, parts), make([]float64, parts)
		for part, s := range shares {
			target[part] = s / all
			limit[part] = int(max(math.Floor(1.05*float64(n)*s/all+1e-6), math.Ceil(float64(n)*s/all-1e-6)))
		}
		g, fanout := wired(n, rows), 1+r.IntN(6)
		roots, ends := upTo(0, n), make([]int, parts)
		newAssigner(g, fanout, home, parts, shares).atHome(roots, ends)
		want, lo := assignedSlowly(g, fanout, home, upTo(0, n), limit, target), 0
		for part, hi := range ends {
			if hi-lo > limit[part] || !slices.IsSorted(roots[lo:hi]) {
				t.Fatalf("part %d of %d has roots %v, at most %d of them, in order", part, parts, roots[lo:hi], limit[part])
			}
			for _, v := range roots[lo:hi] {
				if want[v] != part {
					t.Fatalf("root %d of part %d is at part %d of %d, want %d", v, home[v], part, parts, want[v])
				}
			}
			lo = hi
		}
		if lo != n {
			t.Fatalf("%d of %d roots are assigned", lo, n)
		}
	}
}

// ringed is a graph whose vertices read those next to them, in a ring of parts of equal length: most of what a vertex reads is at its home.
func ringed(p *learn.Problem, o *Options) {
	n, parts := p.Vertices(), len(o.Devices)
	g := &graph.CSR{Cols: n, Indptr: []int64{0}}
	for v := range n {
		var row []int32
		for _, d := range []int{n - 3, n - 2, n - 1, 1, 2, 3} {
			row = append(row, int32((v+d)%n))
		}
		slices.Sort(row)
		g.Indices = append(g.Indices, row...)
		g.Indptr = append(g.Indptr, int64(len(g.Indices)))
	}
	p.Graph, o.Part = g, make([]int32, n)
	for v := range n {
		o.Part[v] = int32(v * parts / n)
	}
}

// recount counts the rows of an epoch from the blocks of all units, whose roots those of r are: each row once in a step of a part, or once in a unit.
func recount(p *learn.Problem, o *Options, epoch int, r *roots) (rows Rows, requests int64) {
	s := sample.New(sample.Topology{Graph: p.Graph, Loops: p.Loops}, sample.Rules{Seed: o.Model.Seed, Fanout: o.Sampling.Fanout, AddLoops: p.Loops == graph.LoopsAdded})
	for t := epoch * r.steps; t < (epoch+1)*r.steps; t++ {
		for part := range o.Devices {
			type reader struct{ unit, id int32 }
			read, asked := map[reader]bool{}, map[reader]bool{}
			for unit := range r.units {
				var st sample.Stack
				s.Draw(&st, uint32(t), r.of(t, part, unit, nil))
				if !o.Sampling.NoGather {
					unit = 0
				}
				for _, v := range st.IDs {
					read[reader{int32(unit), v}] = true
				}
			}
			for x := range read {
				if home := o.Part[x.id]; int(home) == part {
					rows.Local++
				} else {
					rows.Fetched++
					asked[reader{x.unit, home}] = true
				}
			}
			rows.Read += int64(len(read))
			requests += int64(len(asked))
		}
	}
	return rows, requests
}

// Rows are counted as the blocks have them. Where most of what roots read is at their home, roots at home fetch far fewer than the same roots in the batch's order.
func TestRowsByPlace(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{vertices: 600}.make(t, kind)
		o := small(m, devices(t, 4, host.Spec{}), nil)
		ringed(p, &o)
		o.Sampling.BatchSize, o.Epochs = 60, 2
		count := func(c kindOfRoots, apart bool) Rows {
			c.set(&o.Sampling)
			o.Sampling.NoGather = apart
			var got Rows
			var requests int64
			o.OnEpoch = func(e EpochStats) error { got, requests = e.Rows, e.Requests; return nil }
			trained(t, p, o)
			want, wanted := recount(p, &o, 1, newRoots(p, &o))
			if got != want || requests != wanted {
				t.Errorf("%s, %+v, apart %t: %+v in %d requests, the blocks have %+v in %d", kind, c, apart, got, requests, want, wanted)
			}
			return got
		}
		count(kindOfRoots{local: true}, false)
		batch, home := count(kindOfRoots{}, false), count(kindOfRoots{place: Home}, false)
		hop, apart := count(kindOfRoots{place: Hop}, false), count(kindOfRoots{place: Hop}, true)
		if home.Fetched*5 > batch.Fetched || hop.Fetched >= batch.Fetched || apart.Fetched <= hop.Fetched {
			t.Errorf("%s: %d rows are fetched at home, %d with hop, %d unit by unit, %d in the batch's order", kind, home.Fetched, hop.Fetched, apart.Fetched, batch.Fetched)
		}
	}
}

// Local roots are at home as they are, and one part computes all roots: their place changes no bit.
func TestPlaceOfLocalRoots(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, parts := range []int{1, 3} {
		o := small(m, devices(t, parts, host.Spec{}), homes(p.Vertices(), parts))
		o.Sampling.Local = parts > 1
		want := trained(t, p, o).WeightsSHA
		for _, place := range places {
			kindOfRoots{place, o.Sampling.Local}.set(&o.Sampling)
			if got := trained(t, p, o).WeightsSHA; got != want {
				t.Errorf("%d parts: %v changed the weights", parts, place)
			}
		}
	}
}

// A plan's bounds hold for roots at home too, which are as many as their limit in some step or other.
func TestPlanOfPlaces(t *testing.T) {
	for _, place := range places {
		p, m := task{vertices: 2000}.make(t, named.SAGE)
		o := small(m, devices(t, 3, host.Spec{}), nil)
		ringed(p, &o)
		o.Sampling.BatchSize, o.Shares = 200, []float64{1, 2, 1}
		kindOfRoots{place: place}.set(&o.Sampling)
		plan, err := Plan(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		r := trained(t, p, o)
		for i, part := range plan.Parts {
			if peak, bound := r.PeakDevice[i], part.Bound; peak > bound || float64(peak) < 0.7*float64(bound) {
				t.Errorf("%v: part %d took %d bytes, planned %d: %+v", place, i, peak, bound, part.Uses)
			}
		}
		if place == Hop { // the epochs of the search read more
			o.Sampling.NoMerge, o.Sampling.Merged = true, nil
			r = trained(t, p, o)
			if plan, err = Plan(t.Context(), p, o); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := plan.Rows.Fetched, r.Rows.Fetched/int64(o.Epochs); got < want*8/10 || got > want*12/10 {
			t.Errorf("%v: %d rows planned to be fetched, %d were", place, got, want)
		}
	}
}

// Whatever a run is made of, the gradient of a step is that of one part in every place: any number of parts, some without vertices, unequal shares, devices with several
// parts, batches of one root and of all, merged time steps.
func TestPlacesOfDrawnRuns(t *testing.T) {
	for k := range 30 {
		d := draw(t, 1000+k)
		if d.p.TrainingVertices() == 0 {
			continue
		}
		r := rand.New(rand.NewPCG(21, uint64(k)))
		o := d.o
		o.Storage, o.Sampling.Local, o.Sampling.Ladies = gpu.FP32, false, false // which draws by place
		d.m.BatchNorm = false                                                   // rows count for each part that has them
		o.Model = netOf(d.m)
		from := gnn.NewWeights(o.Model)
		from.Init(o.Model.Seed)
		step, one := r.IntN(60), o
		one.Devices, one.Part, one.Shares = o.Devices[:1], nil, nil
		want := gradient(t, d.p, one, step, from)
		for _, c := range scattered() {
			c.set(&o.Sampling)
			if merged := r.IntN(7); c.place == Hop {
				o.Sampling.Merged, o.Sampling.NoGather = &merged, r.IntN(2) == 0
			}
			got := gradient(t, d.p, o, step, from)
			closeTo(t, fmt.Sprintf("%s: step %d at %v", d.name, step, c.place), got, want, zero(o.Model), 2e-5)
		}
		for _, dev := range o.Devices {
			dev.Close()
		}
	}
}
