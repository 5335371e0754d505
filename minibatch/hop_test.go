package minibatch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/minibatch/rowcache"
)

// schedule writes what each part computes in each time step: model, colon, roots.
func schedule(home []int32, models []int32, roots []graph.NodeID, parts, merged int) string {
	d := newAssigner(nil, 0, home, parts, nil)
	of := map[graph.NodeID]int32{}
	for i, v := range roots {
		of[v] = models[i]
	}
	ends, steps := make([]int, parts*parts), make([]int32, parts)
	roots = slices.Clone(roots)
	d.byModel(roots, models, merged, ends, steps)
	unit := func(part, unit int) string {
		k, lo, step := part*parts+unit, 0, int(steps[unit])
		if k > 0 {
			lo = ends[k-1]
		}
		model := (part - step + parts) % parts
		for _, v := range roots[lo:ends[k]] {
			if int(of[v]) != model {
				return fmt.Sprintf("root %d of model %d in a unit of model %d", v, of[v], model)
			}
		}
		return fmt.Sprintf("%d:%v", model, roots[lo:ends[k]])
	}
	var out []string
	for k, step := range steps {
		if step == dropped {
			if k < parts-merged || ends[k] != ends[k-1] {
				return fmt.Sprintf("unit %d is dropped, %d time steps are", k, merged)
			}
			continue
		}
		line := fmt.Sprintf("t%d ", step)
		for part := range parts {
			line += " " + unit(part, k)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// HopGNN's Figure 9: two servers, of which the first has vertices 4 to 7, and mini-batches {6, 3} and {5, 0}. In the first time step the servers train on the micrographs
// of 6 and 0, in the second one, when the models have changed places, on those of 5 and 3.
func TestFigure9(t *testing.T) {
	home := []int32{1, 1, 1, 1, 0, 0, 0, 0}
	got := schedule(home, []int32{0, 0, 1, 1}, []graph.NodeID{6, 3, 5, 0}, 2, 0)
	if want := "t0  0:[6] 1:[0]\nt1  1:[5] 0:[3]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// HopGNN's Figure 10: three servers, three time steps. The second one has the fewest roots. The two that its first model has in it go to that model's other time steps, one to
// each, where it then has 5 and 3; so do those of the others, and no model has fewer roots than before. What does not divide evenly begins with another
// time step for another model.
func TestFigure10(t *testing.T) {
	var home, models []int32
	var roots []graph.NodeID
	for model, counts := range [][]int{{4, 2, 2}, {3, 1, 3}, {2, 2, 4}} { // by time step
		for step, n := range counts {
			for range n {
				roots = append(roots, graph.NodeID(len(home)))
				home, models = append(home, int32((model+step)%3)), append(models, int32(model))
			}
		}
	}
	for merged, want := range []string{
		`t0  0:[0 1 2 3] 1:[8 9 10] 2:[15 16]
t1  2:[17 18] 0:[4 5] 1:[11]
t2  1:[12 13 14] 2:[19 20 21 22] 0:[6 7]`,
		`t0  0:[0 1 2 3 4] 1:[8 9 10] 2:[15 16 17]
t2  1:[11 12 13 14] 2:[18 19 20 21 22] 0:[5 6 7]`,
		`t2  1:[8 9 10 11 12 13 14] 2:[15 16 17 18 19 20 21 22] 0:[0 1 2 3 4 5 6 7]`,
	} {
		if got := schedule(home, models, roots, 3, merged); got != want {
			t.Errorf("%d merged:\n%s\nwant\n%s", merged, got, want)
		}
	}
}

// Time steps are dropped while that makes epochs faster; with the outcome a run repeats all of it (HopGNN's Figure 17 has 4, 3, 2, 3).
func TestSearchForTimeSteps(t *testing.T) {
	for _, c := range []struct {
		times string // of epochs
		parts int
		want  string // time steps of epochs
		kept  int
	}{
		{"9876", 4, "4321111", 3},
		{"9878", 4, "4321222", 2}, // the trial of a single one fails
		{"9888", 4, "4323333", 1},
		{"9988", 4, "4344444", 0},
		{"98", 2, "2111", 1},
		{"99", 2, "2122", 0},
		{"9", 1, "11", 0},
		{"98", 4, "43", 3}, // it is not over
	} {
		m := newMerging(&Sampling{Place: Hop}, c.parts)
		got, open := "", make([]bool, len(c.want))
		for e := range c.want {
			open[e] = m.open(e)
			got += fmt.Sprint(c.parts - m.of(e))
			if e < len(c.times) {
				m.over(e, time.Duration(c.times[e]))
			}
		}
		if got != c.want || m.kept() != c.kept {
			t.Errorf("times %s: %s time steps, %d dropped for good, want %s, %d", c.times, got, m.kept(), c.want, c.kept)
		}
		kept := m.kept()
		again := newMerging(&Sampling{Place: Hop, Merged: &kept}, c.parts)
		for e := range c.want {
			if again.of(e) != m.of(e) {
				t.Errorf("times %s: epoch %d drops %d time steps when it is repeated, %d before", c.times, e, again.of(e), m.of(e))
			}
			if again.open(e) != open[e] {
				t.Errorf("times %s: epoch %d is one of the search: %t when it is repeated", c.times, e, again.open(e))
			}
		}
	}
	if m := newMerging(&Sampling{Place: Hop, NoMerge: true}, 4); m.of(0)+m.of(1)+m.of(7) != 0 || m.open(0) {
		t.Error("time steps are merged where that is switched off")
	}
}

// A sum that models bring along is that of their units in the order of time steps, and the sum of a step that of models in part order, to the bit: as when all is computed
// and added at one place.
func TestCarriedSumsAreThoseOfOnePlace(t *testing.T) {
	for i, kind := range kinds(t) {
		for merged := range 4 {
			p, m := task{sparse: kind == named.GIN, multi: kind == named.SAGE}.make(t, kind)
			o := small(m, devices(t, 4, host.Spec{Threads: 1 + i%2}), homes(p.Vertices(), 4))
			if i%2 == 1 {
				o.Devices[3] = o.Devices[1]
			}
			o.Optimizer, o.Epochs = gnn.Optimizer{Kind: gnn.SGD, LR: 1e-30}, 5
			o.Sampling.Place, o.Sampling.Merged, o.Sampling.BatchSize = Hop, &merged, 40
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			const epoch, batch = 4, 2
			tr.state.Batch = batch
			want := inOnePlace(t, tr, epoch*tr.roots.steps+batch)
			if err := tr.Stretch(epoch, tr.state.Batch, batch+1); err != nil {
				t.Fatal(err)
			}
			var got [4][]float32
			for s, w := range tr.workers {
				if got[s], err = w.Download(w.Grads.Flat); err != nil {
					t.Fatal(err)
				}
			}
			for k := range got[0] {
				total := float32(0)
				for s := range got {
					if s == 0 {
						total = want[s][k]
					} else {
						total += want[s][k]
					}
				}
				owners := 0
				for s := range got {
					if got[s][k] == total && (total != want[s][k] || owners == 0) {
						owners++
					} else if got[s][k] != want[s][k] {
						t.Fatalf("%s, %d merged: element %d at part %d is %v, want %v, or the sum %v", kind, merged, k, s, got[s][k], want[s][k], total)
					}
				}
				if owners == 0 {
					t.Fatalf("%s, %d merged: no part has the sum of element %d", kind, merged, k)
				}
			}
			tr.Close()
		}
	}
}

// inOnePlace computes all units of a step on the first part's device, and adds them up on the host: by part, the sum of the model that ends there.
func inOnePlace(t *testing.T, tr *Trainer, step int) (sums [4][]float32) {
	t.Helper()
	w, parts := tr.workers[0], len(tr.workers)
	s := tr.design.sampler(tr.p)
	last := 0
	for unit := range parts {
		last = max(last, tr.roots.timeStep(step, unit))
	}
	for unit := range parts {
		at := tr.roots.timeStep(step, unit)
		if at == dropped {
			continue
		}
		for part := range parts {
			stage := w.stage
			stage.part, stage.apart = part, true // each unit is counted by itself
			d := sampledUnit{unit: unit, group: new(group)}
			if err := stage.fill(s, &d, step); err != nil {
				t.Fatal(err)
			}
			err := meet.Guard(func() {
				n, _ := w.fetch(&d)
				w.Compute.Wait(w.prefetch.Record())
				tr.gradient(w, n, trainer.Unit{Scale: tr.scale(step/tr.roots.steps, step%tr.roots.steps)}, func(int) {})
				n.read = w.Compute.Record()
			})
			if err != nil {
				t.Fatal(err)
			}
			g, err := w.Download(w.Grads.Flat)
			if err != nil {
				t.Fatal(err)
			}
			d.close()
			model := (part - at + parts) % parts
			end := (model + last) % parts
			if sums[end] == nil {
				sums[end] = g
				continue
			}
			for i := range g {
				sums[end][i] += g[i]
			}
		}
	}
	return sums
}

// Models bring as many bytes along as their gradients have, once between two time steps, counted apart; a run of Hop alone has them.
func TestCarriedBytes(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	n := gpu.Bytes(4 * len(gnn.NewWeights(netOf(m)).Flat))
	for _, c := range []struct {
		place  Place
		merged int
	}{{Batch, 0}, {Home, 0}, {Hop, 0}, {Hop, 1}, {Hop, 2}} {
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		if o.Sampling.Place = c.place; c.place == Hop {
			o.Sampling.Merged = &c.merged
		}
		o.Epochs = 5
		var last EpochStats
		o.OnEpoch = func(e EpochStats) error { last = e; return nil }
		r := trained(t, p, o)
		want, steps := gpu.Bytes(0), 1
		if c.place == Hop {
			steps = 3 - c.merged
			want = n * gpu.Bytes(3*(steps-1)*last.Steps)
		}
		if last.Bytes.Carried != want || last.TimeSteps != steps || (r.Merged != nil) != (c.place == Hop) || r.Merged != nil && *r.Merged != c.merged {
			t.Errorf("%+v: %d bytes carried in %d time steps, want %d in %d; merged %v", c, last.Bytes.Carried, last.TimeSteps, want, steps, r.Merged)
		}
		if r.Bytes.Gradients/gpu.Bytes(r.Steps) != last.Bytes.Gradients/gpu.Bytes(last.Steps) {
			t.Errorf("%+v: carried sums are counted as gradients", c)
		}
	}
}

// A run that measures which time steps to drop, and is interrupted meanwhile, is repeated to the bit by one that is told, however rows of other parts come. Where they
// come in the same way, the same rows are fetched.
func TestMeasuredMerging(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, rules := range []rowcache.Rules{{}, {Kind: rowcache.Planned, Lookahead: rowcache.All}, {Kind: rowcache.Rapid}, {Kind: rowcache.Massive, Delta: 4}} {
		o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
		o.Sampling.Place, o.Sampling.Fetch, o.Sampling.RowCache, o.Epochs, o.Sampling.MeasureMerge = Hop, rules, CacheSize{Unit: CacheRows, N: 20}, 6, true
		o.CheckpointDir, o.CheckpointSteps, o.Resume, o.Identity = t.TempDir(), 2, true, "id"
		var steps []int
		var rows []Rows
		o.OnEpoch = func(e EpochStats) error { steps, rows = append(steps, e.TimeSteps), append(rows, e.Rows); return nil }
		var want *Result
		for at := 3; ; at += 7 {
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			want = interrupted(t, tr, &o, &at)
			tr.Close()
			if want.Stopped == "" {
				break
			}
		}
		if want.Merged == nil {
			t.Fatal("the run does not say what it merged")
		}
		measured, fetched := steps, rows
		steps, rows = nil, nil
		o.Resume, o.CheckpointDir, o.CheckpointSteps, o.Sampling.Merged = false, "", 0, want.Merged
		if trained(t, p, o); !reflect.DeepEqual(rows, fetched) {
			t.Errorf("%+v: rows %+v by measurement, %+v when they are repeated", rules, fetched, rows)
		}
		steps, o.Sampling.Fetch = nil, rowcache.Rules{}
		got := trained(t, p, o)
		if got.WeightsSHA != want.WeightsSHA || !reflect.DeepEqual(steps, measured) || got.Rows.Read != want.Rows.Read {
			t.Errorf("%+v: %v time steps and %d rows by measurement, %v and %d when they are repeated; equal bits %t", rules, measured, want.Rows.Read, steps, got.Rows.Read,
				got.WeightsSHA == want.WeightsSHA)
		}
	}
}

// As many time steps are dropped as move the fewest bytes: none where a model is small beside the rows that its roots read, all where it is large. Nothing that changes no bit decides.
func TestMergingByCounts(t *testing.T) {
	for hidden, want := range map[int]int{4: 0, 512: 2} {
		for i, rules := range []rowcache.Rules{{}, {Kind: rowcache.Planned, Lookahead: 9}, {Kind: rowcache.Rapid, Pull: true}} {
			p, m := task{cols: 200}.make(t, named.SAGE)
			var near []graph.Edge // vertices lie on a line, and parts are its pieces
			part := make([]int32, p.Vertices())
			for v := range part {
				part[v] = int32(3 * v / len(part))
				for d := range min(v, 4) {
					near = append(near, graph.Edge{From: graph.NodeID(v - d - 1), To: graph.NodeID(v)})
				}
			}
			g, err := graph.FromEdges(len(part), near)
			if err != nil {
				t.Fatal(err)
			}
			p.Graph = g
			m.Layers, m.Hidden = 2, hidden
			o := small(m, devices(t, 3, []host.Spec{{}, linked, {Slow: 3}}[i]), part)
			o.Sampling.Place, o.Sampling.Fetch, o.Sampling.NoGather, o.Sampling.Fanout, o.Epochs = Hop, rules, i == 1, fanouts(4, 3), 0
			if r := trained(t, p, o); *r.Merged != want {
				t.Errorf("hidden %d, %+v: %d time steps are dropped, want %d", hidden, rules, *r.Merged, want)
			}
		}
	}
}

// Bytes that cross links count in the epoch whose steps read them, however far ahead they come: what devices exchange is rows, their ids, and gradients.
func TestLinkedBytes(t *testing.T) {
	for i, place := range []Place{Home, Hop} {
		p, m := task{}.make(t, named.SAGE)
		o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
		o.Sampling.Place, o.Sampling.Prefetch, o.EvalEvery = place, 9, 1
		if o.Sampling.BatchSize = 20; i == 0 {
			o.Sampling.Fetch, o.Sampling.RowCache = rowcache.Rules{Kind: rowcache.Planned, Lookahead: 9}, CacheSize{CacheRows, 40}
		}
		o.OnEpoch = func(e EpochStats) error {
			if b := &e.Bytes; e.Usage.Peer != b.Rows+b.IDs+e.Gradients.Peer+b.Carried || b.Rows == 0 {
				t.Errorf("%v, epoch %d: %d bytes between devices, of %+v", place, e.Epoch, e.Usage.Peer, *b)
			}
			return nil
		}
		trained(t, p, o)
	}
}

// What a run plans by does not depend on whether it knows how many time steps will be dropped: else the repetition of a run had another order of operations.
func TestPlanBeforeMerging(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	var want design
	for _, merged := range []*int{nil, new(int), new(2)} {
		o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
		o.Sampling.Place, o.Sampling.Merged = Hop, merged
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		d := tr.design
		tr.Close()
		d.epoch.Time = Times{}
		if merged == nil {
			want = d
		}
		if !reflect.DeepEqual(d.plan, want.plan) || !reflect.DeepEqual(d.extents, want.extents) || !reflect.DeepEqual(d.areas, want.areas) || d.epoch != want.epoch {
			t.Errorf("with %d dropped: %+v %v %v %+v, want %+v %v %v %+v", *merged, d.plan, d.extents, d.areas, d.epoch, want.plan, want.extents, want.areas, want.epoch)
		}
	}
}
