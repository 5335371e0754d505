package minibatch

import (
	"math"
	"runtime"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// Mistakes that a trainer could make show in the gradient of a step by far more than rounding.
func TestMutantsAreCaught(t *testing.T) {
	for name, mutate := range map[string]func(tr *Trainer, w *worker, s *sample.Sampler, d *sampledUnit, step int, fill func(*sample.Sampler, *sampledUnit, int) error) error{
		"none": nil,
		"samples keyed by part": func(tr *Trainer, w *worker, s *sample.Sampler, d *sampledUnit, step int, fill func(*sample.Sampler, *sampledUnit, int) error) error {
			rules := tr.design.rules
			rules.Seed += uint64(w.Index)
			return fill(sample.New(sample.Topology{Graph: tr.p.Graph, Loops: tr.p.Loops}, rules), d, step)
		},
		"a neighbouring row is read": func(_ *Trainer, w *worker, s *sample.Sampler, d *sampledUnit, step int, fill func(*sample.Sampler, *sampledUnit, int) error) error {
			err := fill(s, d, step)
			rows, cols := on(d.mem.Bytes(), d.layout.tables[0]), w.stage.tables[0].cols
			if len(rows) > cols {
				copy(rows[:cols], rows[cols:2*cols])
			}
			return err
		},
		"n/k is forgotten": func(_ *Trainer, _ *worker, s *sample.Sampler, d *sampledUnit, step int, fill func(*sample.Sampler, *sampledUnit, int) error) error {
			err := fill(s, d, step)
			for i := range d.layout.layers {
				scale := on(d.mem.Bytes(), d.layout.layers[i].Forward.RowScale)
				for r := range scale {
					scale[r] = 1
				}
			}
			return err
		},
	} {
		p, m := task{}.make(t, named.GIN)
		o := small(m, devices(t, 1, host.Spec{}), nil)
		from := gnn.NewWeights(netOf(m))
		from.Init(m.Seed)
		want := gradient(t, p, o, 0, from)
		o.Devices, o.Part = devices(t, 2, host.Spec{}), homes(p.Vertices(), 2)
		o.Init, o.Optimizer = from.StateDict(), gnn.Optimizer{Kind: gnn.SGD, LR: big}
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tr.workers {
			if fill := w.feed.fill; mutate != nil {
				w.stage.gathers, w.stage.shares = true, false // so that a sampledUnit has its rows
				w.feed.fill = func(s *sample.Sampler, d *sampledUnit, step int) error { return mutate(tr, w, s, d, step, fill) }
			}
		}
		got := stepped(t, tr, 0, from)
		tr.Close()
		var diff, norm float64
		for i, x := range want.Flat {
			diff, norm = diff+math.Pow(float64(got.Flat[i]-x), 2), norm+math.Pow(float64(x), 2)
		}
		if far := math.Sqrt(diff / norm); (far > 1e-3) != (mutate != nil) {
			t.Errorf("%s: the gradient is %.1e off", name, far)
		}
	}
}

// Between steps nothing is allocated but what queues note of their operations: far less than a step's blocks and rows.
func TestStepsAllocateNothing(t *testing.T) {
	p, m := task{vertices: 20000}.make(t, named.SAGE)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.Sampling.BatchSize, o.Sampling.Fanout, o.Epochs = 512, []int{10, 5, 5}, 3
	var before, after runtime.MemStats
	var stats EpochStats
	o.OnEpoch = func(e EpochStats) error {
		if e.Epoch == 1 {
			runtime.ReadMemStats(&before)
		}
		stats = e
		return nil
	}
	o.EvalEvery = 1000
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	tr.o.OnStep = func(pr Progress) {
		if pr.Epoch == 2 && pr.Step == pr.Steps-1 {
			runtime.ReadMemStats(&after)
		}
	}
	if _, err := tr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	perStep := float64(after.TotalAlloc-before.TotalAlloc) / float64(stats.Steps)
	data := 4 * float64(stats.Edges+stats.Rows.Read*int64(m.In)) / float64(stats.Steps)
	if perStep > data/20 {
		t.Errorf("%.0f bytes are allocated in a step, which reads %.0f", perStep, data)
	}
	t.Logf("%.0f bytes are allocated in a step, which reads %.0f", perStep, data)
}
