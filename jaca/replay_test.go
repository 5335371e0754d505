package jaca

import (
	"math"
	"testing"

	"capgnn/gpu"
)

// TestReplayKnown is four forward (rows of 40 bytes, R(0) = 2, R(2) = 1, R(3) = 2) with one global slot and one local slot per
// part at s = 1, so p = 2. Row 3's global slot lets all lookups be covered, by local slots for part 0's row 2 and row 0 in
// parts 1 and 2: 5.5 seconds per byte and epoch, 6 with row 0's. Of two classes the one row in the global cache gets 1, the
// only local one of each part 0.
//
//	epoch 0: all due. part 0: 2 direct, 3 published; part 1: 0 direct, 3 followed; part 2: 0 direct: d2h 4, h2d 5
//	epoch 1: part 0: 2 stays, 3 published; part 1: 0 stays, 3 followed; part 2: 0 stays:             d2h 1, h2d 2
//	epoch 2: part 0: 2 direct, 3 fetched; part 1: 0 direct, 3 fetched; part 2: 0 direct:             d2h 3, h2d 5
func TestReplayKnown(t *testing.T) {
	x, _ := four(t)
	plan, err := Build([]Exchange{x}, &Capacities{Local: []int{1, 1, 1}, Global: 1}, Options{Period: 2})
	if err != nil {
		t.Fatal(err)
	}
	sched, err := NewSchedule(1, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReplay(plan, []Schedule{sched})
	for epoch, want := range []Stats{
		{Lookups: 5, Covered: 5, Misses: 5, Bytes: Traffic{D2H: 160, H2D: 200}},
		{Lookups: 5, Covered: 5, LocalHits: 3, Misses: 2, Bytes: Traffic{D2H: 40, H2D: 80, Refresh: 40}, AgeSum: 3, AgeMax: 1},
		{Lookups: 5, Covered: 5, GlobalHits: 2, Misses: 3, Bytes: Traffic{D2H: 120, H2D: 200, Refresh: 240}, AgeSum: 2, AgeMax: 1},
	} {
		if got := r.Epoch(epoch); got != want {
			t.Errorf("epoch %d: %+v, want %+v", epoch, got, want)
		}
	}
}

// TestReplayNone: without slots bytes equal Σ|H_i|·width in each direction of the links.
func TestReplayNone(t *testing.T) {
	x, y := four(t)
	peer := [][]float64{{0, 1, 0}, {0, 0, 0}, {0, 0, 0}} // 0 → 1 only
	for _, tc := range []struct {
		l    Links
		want Traffic
	}{{Links{}, Traffic{D2H: 5*40 + 6*24, H2D: 5*40 + 6*24}}, {Links{Peer: peer}, Traffic{D2H: 4*40 + 4*24, H2D: 4*40 + 4*24, Peer: 40 + 2*24}}} {
		plan, err := Build([]Exchange{x, y}, &Capacities{Local: []int{9, 9, 9}, Global: 9}, Options{Policy: None, Links: tc.l})
		if err != nil {
			t.Fatal(err)
		}
		s := NewReplay(plan, []Schedule{{Period: 1}, {Period: 1}}).Run(0, 3)
		want := Stats{Lookups: 33, Misses: 33, Bytes: Traffic{D2H: 3 * tc.want.D2H, H2D: 3 * tc.want.H2D, Peer: 3 * tc.want.Peer}}
		if s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
}

// content is what lies in a slot: a vertex's row of an epoch.
type content struct{ vertex, epoch int }

// mover carries out what a replay says, with epochs in place of rows, and checks each lookup's version against what lies
// there: what is there after the moves of the epoch without lag, before them with it.
type mover struct {
	t      *testing.T
	table  *Table
	sched  Schedule
	local  []map[int32]content // by part and slot
	global map[int32]content
	before []map[int32]content // local at the beginning of the epoch
	shared map[int32]content   // global at the beginning of the epoch
}

func clone(m map[int32]content) map[int32]content {
	c := map[int32]content{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func (m *mover) epoch(r *Replay, epoch int) (s Stats) {
	m.shared = clone(m.global)
	m.before = nil
	for i := range m.local {
		m.before = append(m.before, clone(m.local[i]))
	}
	r.Exchange(0, epoch, func(l Lookup) {
		m.move(l, epoch)
		s.count(&l, r.plan, epoch)
	})
	return s
}

// ready is the epoch of the rows that a reader has of a vertex with lag: of its slot if the vertex has lain there since before
// this epoch, else of the global slot if so, else those sent ahead in the epoch before.
func (m *mover) ready(l Lookup, vertex, epoch int) int {
	if c, ok := m.before[l.Part][l.Local]; ok && c.vertex == vertex && m.local[l.Part][l.Local].vertex == vertex {
		return c.epoch
	}
	if c, ok := m.shared[l.Global]; ok && c.vertex == vertex && m.global[l.Global].vertex == vertex {
		return c.epoch
	}
	return epoch - 1
}

func (m *mover) move(l Lookup, epoch int) {
	v := int(m.table.Halos[l.Part].IDs[l.Halo])
	arrived, sent := content{v, epoch}, m.ready(l, v, epoch)
	switch l.Route {
	case Published:
		m.global[l.Global] = arrived
	case Fetched, Followed:
		arrived = m.global[l.Global]
		if (arrived.epoch == epoch) != (l.Route == Followed) {
			m.t.Fatalf("epoch %d: route %d of rows of epoch %d", epoch, l.Route, arrived.epoch)
		}
	case Stays:
		arrived = m.local[l.Part][l.Local]
	}
	if arrived.vertex != v {
		m.t.Fatalf("epoch %d: part %d reads vertex %d for %d", epoch, l.Part, arrived.vertex, v)
	}
	if l.Local >= 0 {
		m.local[l.Part][l.Local] = arrived
	}
	want := arrived.epoch
	if m.sched.Lag == 1 && epoch > m.sched.Start {
		want = sent
	}
	if l.Version != want {
		m.t.Fatalf("epoch %d, part %d, vertex %d: version %d, what lies there is of %d (%+v)", epoch, l.Part, v, l.Version, want, l)
	}
}

// TestReplay runs every policy, bound and both pipelines over 60 epochs, moves epochs as rows, and looks that no version is
// older than s. For static policies the counters are those of docs/caching.md, row by row, and the seconds of a whole period are
// what the plan predicts.
func TestReplay(t *testing.T) {
	d := &draw{seed: 7}
	for _, policy := range allPolicies {
		for s := range MaxStaleness + 1 {
			for _, pipeline := range []bool{false, true} {
				sched, err := NewSchedule(s, pipeline, 3)
				if err != nil {
					t.Fatal(err)
				}
				plan := randomPlan(t, d, policy, sched.Period)
				table := plan.Tables[0]
				m := &mover{t: t, table: table, sched: sched, global: map[int32]content{}}
				for range table.Halos {
					m.local = append(m.local, map[int32]content{})
				}
				r := NewReplay(plan, []Schedule{sched})
				for epoch := 3; epoch < 63; epoch++ {
					got := m.epoch(r, epoch)
					if got.AgeMax > s || got.LocalHits+got.GlobalHits+got.Misses != got.Lookups {
						t.Fatalf("%s, s = %d: %+v", policy, s, got)
					}
					if want := slowStats(plan, sched, epoch); !policy.Dynamic() && want != [4]int64{got.Covered, got.LocalHits, got.GlobalHits, got.Misses} {
						t.Fatalf("%s, %+v, epoch %d: %+v, want %v", policy, sched, epoch, got, want)
					}
				}
				if !policy.Dynamic() {
					checkSeconds(t, plan, sched)
				}
			}
		}
	}
}

// slowStats counts covered lookups, local hits, global hits and misses of a static plan by their definitions.
func slowStats(p *Plan, sched Schedule, epoch int) (n [4]int64) {
	t := p.Tables[0]
	for i := range t.Halos {
		r := &t.Readers[i]
		t.Halos[i].each(func(_, k int) {
			local, global := int(r.Place[k]) < len(r.Local), r.Global[k] >= 0
			due := true
			if local || global {
				n[0]++
				due = sched.Due(int(r.Class[k]), epoch)
			}
			switch {
			case local && !due:
				n[1]++
			case global && !due:
				n[2]++
			default:
				n[3]++
			}
		})
	}
	return n
}

// checkSeconds compares the mean time on links over a period with the cost that placement minimises.
func checkSeconds(t *testing.T, p *Plan, sched Schedule) {
	table, l := p.Tables[0], &p.Links
	r := NewReplay(p, []Schedule{sched})
	r.Epoch(sched.Start)
	sum := 0.0
	for epoch := sched.Start + 1; epoch <= sched.Start+sched.Period; epoch++ {
		r.Exchange(0, epoch, func(x Lookup) {
			switch x.Route {
			case Fetched, Followed:
				sum += l.h2d(x.Part)
			case Published:
				sum += l.h2d(x.Part) + l.d2h(x.Owner)
			case Direct:
				_, seconds, _ := l.direct(x.Owner, x.Part)
				sum += seconds
			}
		})
	}
	got, want := sum/float64(sched.Period), newCosts(table.ix, &Options{Period: sched.Period, Links: *l}).total(table.slots)
	if math.Abs(got-want) > 1e-9*max(1, want) {
		t.Fatalf("%s, p = %d: %g seconds per epoch, predicted %g", p.Policy, sched.Period, got, want)
	}
}

// TestBrokenRefresh: with rows that are not renewed in an epoch in which they are due CheckAge names the epochs.
func TestBrokenRefresh(t *testing.T) {
	sched, err := NewSchedule(4, true, 0)
	if err != nil {
		t.Fatal(err)
	}
	caught := 0
	for epoch := range 40 {
		version := sched.Version(1, epoch)
		if version == 13 {
			version = 9 // epoch 13 was missed
		}
		if CheckAge(version, epoch, 4) != nil {
			caught++
		}
	}
	if caught != 4 {
		t.Errorf("%d of 4 uses of a version that was not renewed were caught", caught)
	}
}

// BenchmarkBuild plans 4 parts of tolokers with every policy that plans.
func BenchmarkBuild(b *testing.B) {
	x := exchangesOf(b, "heterophilous/tolokers.npz", 4)
	caps, err := Capacity(x, Memory{Local: Percent(20), Global: Percent(20), Device: []gpu.Bytes{1 << 40, 1 << 40, 1 << 40, 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	rows := 0
	for e := range x {
		rows += x[e].Rows()
	}
	for _, policy := range []Policy{JACA, Paper} {
		b.Run(string(policy), func(b *testing.B) {
			for b.Loop() {
				if _, err := Build(x, caps, Options{Policy: policy, Period: 5}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
