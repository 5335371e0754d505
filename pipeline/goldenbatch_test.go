package pipeline

import (
	"fmt"
	"math"
	"testing"

	"capgnn/internal/golden"
	"capgnn/internal/named"
	"capgnn/model"
)

// Models with BatchNorm or GraphNorm between layers have PyTorch Geometric's logits, losses, gradients and five Adam steps, and
// running statistics behind these, on any number of devices.
func TestGoldenBatchNorm(t *testing.T) {
	t.Parallel()
	cases, err := golden.LoadBatch()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 9 {
		t.Fatalf("%d cases, want 9", len(cases))
	}
	for _, c := range cases {
		for _, parts := range []int{1, 2, 3, 5} {
			if parts != 3 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", c.Name, parts), func(t *testing.T) {
				p, m, init := goldenProblem(t, &c)
				var losses []float64
				make := func() *Trainer {
					return newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
						o.Epochs, o.Init = 5, init
						o.OnEpoch = func(e EpochStats) error { losses = append(losses, e.Loss); return nil }
					})
				}
				tr := make()
				if _, err := tr.evaluate(); err != nil {
					t.Fatal(err)
				}
				near(t, "logits", logitsOf(t, tr), c.Logits.Data)
				grads, loss := gradients(t, tr)
				if !(math.Abs(loss-c.Loss) <= 1e-4*c.Loss) {
					t.Errorf("loss %v, want %v", loss, c.Loss)
				}
				for _, g := range c.Grads {
					near(t, "gradient of "+g.Name, grads.Tensor(g.Name).Data, g.Data)
				}
				w := run(t, make()).Weights
				near(t, "Adam losses", float32s(losses), c.AdamLosses)
				for _, x := range c.Adam5 {
					near(t, x.Name+" after five steps", w.Tensor(x.Name).Data, x.Data)
				}
			})
		}
	}
}

// Every model with norms between layers takes BatchNorm.
func TestBatchNormOfModels(t *testing.T) {
	for _, name := range model.Names("norm") {
		p, m, _ := smallTask(t, named.Kind(name), true, true)
		m.BatchNorm, m.Layers, m.Heads = true, 3, 2
		p, err := p.For(netOf(m))
		if err != nil {
			t.Fatal(err)
		}
		loss := map[int]float64{}
		for _, parts := range []int{1, 3} {
			tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
				o.Epochs = 5
				o.OnEpoch = func(e EpochStats) error { loss[parts] = e.Loss; return nil }
			})
			if w := run(t, tr).Weights; w.Tensor("norms.1.module.running_var") == nil || w.Tensor("norms.2.module.running_var") != nil && name != "mixhop" {
				t.Errorf("%s: running statistics of other layers than the first two", name)
			}
		}
		if !(math.Abs(loss[3]-loss[1]) <= 1e-4*loss[1]) {
			t.Errorf("%s: losses of 1 and 3 parts behind 5 epochs are %v", name, loss)
		}
	}
}
