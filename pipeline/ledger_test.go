package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// What a run would take, counted on ledgers, is what it takes: the high-water mark of every device, byte for byte.
func TestLedgerEqualsRun(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		for _, parts := range []int{1, 3} {
			for name, edit := range map[string]func(*learn.Problem, *Options){
				"plain":        func(*learn.Problem, *Options) {},
				"exchanged":    func(_ *learn.Problem, o *Options) { change(o, func(m *named.Model) { m.DropFeatures = kind.Norms() }) },
				"residual":     func(_ *learn.Problem, o *Options) { change(o, func(m *named.Model) { m.Residual = kind.Norms() }) },
				"amsgrad":      func(_ *learn.Problem, o *Options) { o.Optimizer.AMSGrad = true },
				"never scored": func(_ *learn.Problem, o *Options) { o.EvalEvery = 0 },
				"pruned":       func(p *learn.Problem, o *Options) { o.Dropped = dropReplicas(p.Graph, o.Part, parts, 0.5) },
				"bf16 halos":   func(_ *learn.Problem, o *Options) { o.Cache.HaloType = halo.BF16 },
				"int8 halos":   func(_ *learn.Problem, o *Options) { o.Cache.HaloType = halo.Int8 },
				"cached, int8 halos": func(_ *learn.Problem, o *Options) {
					o.Cache = halo.Options{Policy: jaca.JACA, Local: jaca.Percent(30), Global: jaca.Percent(40), Staleness: 2, Pipeline: true,
						HaloType: halo.Int8, Host: hostmem.LockOptions{Heap: true}}
				},
				"cached, bf16 halos": func(_ *learn.Problem, o *Options) {
					o.Cache = halo.Options{Policy: jaca.Paper, Local: jaca.Percent(30), Global: jaca.Percent(40), Staleness: 2,
						HaloType: halo.BF16, Host: hostmem.LockOptions{Heap: true}}
				},
				"pruned, exchanged": func(p *learn.Problem, o *Options) {
					o.Dropped = dropReplicas(p.Graph, o.Part, parts, 0.5)
					change(o, func(m *named.Model) { m.DropFeatures = kind.Norms() })
				},
			} {
				p, m := task{share: 0.3, sparse: kind == named.GIN, multi: parts == 3}.make(t, kind)
				part := make([]int32, p.Vertices())
				if parts > 1 {
					part = scatterParts(p.Vertices(), parts)
				}
				edited := func(o *Options) { o.Epochs = 2; o.EvalEvery = 1; edit(p, o) }
				var books []gpu.Device
				for i := range parts {
					books = append(books, ledger.New(gpu.Info{Name: fmt.Sprintf("cpu:%d", i)}))
				}
				planned := newTrainer(t, p, m, books, part, edited)
				devices := cpus(t, parts)
				real := newTrainer(t, p, m, devices, part, edited)
				run(t, real)
				cache, staging := real.HostMemory()
				if c, s := planned.HostMemory(); c != cache || s != staging {
					t.Errorf("%s, %s, %d parts: host memory %d and %d, planned %d and %d", kind, name, parts, cache, staging, c, s)
				}
				for i, d := range devices {
					if got, want := d.Memory().HighWater, books[i].Memory().HighWater; got != want {
						t.Errorf("%s, %s, part %d of %d: %d bytes, planned %d", kind, name, i, parts, got, want)
					}
				}
				planned.Close()
				for i, b := range books {
					if used := b.Memory().Used; used != 0 {
						t.Errorf("%s, %s, part %d of %d: %d bytes are left", kind, name, i, parts, used)
					}
				}
			}
		}
	}
}

// So it is with several parts on a device, which take memory for a while before the first epoch, and from run to run.
func TestLedgerEqualsRunOfSharedDevices(t *testing.T) {
	t.Parallel()
	const parts = 6
	for _, kind := range kinds(t) {
		p, m := task{share: 1}.make(t, kind)
		m.In = 40 * taskFeatures // rows of other parts that go behind their aggregation are most of the memory
		p.Features = learn.Features{Cols: m.In, Dense: slices.Repeat(p.Features.Dense, 40)}
		part := scatterParts(p.Vertices(), parts)
		edited := func(o *Options) { o.Epochs, o.EvalEvery = 1, 1 }
		books := []gpu.Device{ledger.New(gpu.Info{Name: "cpu:0"}), ledger.New(gpu.Info{Name: "cpu:1"})}
		share := func(two []gpu.Device) []gpu.Device {
			return []gpu.Device{two[0], two[1], two[0], two[1], two[0], two[1]}
		}
		planned := newTrainer(t, p, m, share(books), part, edited)
		for range 5 {
			devices := cpus(t, 2)
			run(t, newTrainer(t, p, m, share(devices), part, edited))
			for i, d := range devices {
				if got, want := d.Memory().HighWater, books[i].Memory().HighWater; got != want {
					t.Errorf("%s, device %d: %d bytes, planned %d", kind, i, got, want)
				}
			}
		}
		planned.Close()
	}
}

// A plan needs shapes alone: no weights are drawn for devices that forget them.
func TestPlansDrawNoWeights(t *testing.T) {
	p, m := task{share: 1}.make(t, named.GCN)
	part := scatterParts(p.Vertices(), 1)
	for _, tc := range []struct {
		dev  gpu.Device
		want bool
	}{{ledger.New(gpu.Info{Name: "cpu:0"}), false}, {cpus(t, 1)[0], true}} {
		trainer := newTrainer(t, p, m, []gpu.Device{tc.dev}, part, nil)
		if got := slices.ContainsFunc(trainer.Weights.Flat, func(x float32) bool { return x != 0 }); got != tc.want {
			t.Errorf("%T: weights are drawn: %t", tc.dev, got)
		}
		trainer.Close()
	}
}
