package pipeline

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/ledger"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/pipeline/chunks"
)

// isolated lets parts train without rows of each other.
func isolated(i Isolated) func(*Options) {
	return func(o *Options) {
		i := i
		i.AllLayers = i.AllLayers || o.Model.KeepsOrigin() // their first layer is no exception
		o.Isolated, o.EvalEvery = &i, 2
	}
}

// cutOff returns the gradient of one pair's base chunk, whose layers behind the first are cut at the pair's border: in
// float64.
func cutOff(p *learn.Problem, m named.Model, part []int32, pair chunks.Pair, at *gnn.Weights, epoch int) []float64 {
	r := pairModel(p, m, part, Isolated{}, pair)
	if !slices.ContainsFunc(r.weight, func(x float64) bool { return x != 0 }) {
		return make([]float64, len(at.Flat))
	}
	_, grad := r.gradient(newRefWeights(at), epoch)
	return grad
}

// cutTask is a small task with every fifth vertex in training: directed, with several labels; with sparse features; or
// neither.
func cutTask(t *testing.T, kind named.Kind, turn int) (*learn.Problem, named.Model, gnn.StateDict) {
	t.Helper()
	p, m, init := smallTask(t, kind, turn%3 == 1, kind.AddsLoops())
	for v := range p.Train {
		p.Train[v] = v%5 == 2
	}
	if turn%3 == 2 {
		for i := range p.Features.Dense {
			p.Features.Dense[i] *= float32(i % 3 / 2)
		}
		p.Features = sparsified(p.Features)
	}
	return p, m, init
}

// behindTheFirst are the models that isolated parts cut behind the first layer alone.
func behindTheFirst() []named.Kind {
	return slices.DeleteFunc(slices.Clone(named.Kinds), named.Kind.KeepsOrigin)
}

// Gradients of isolated parts are those of their pairs, cut off from the rest behind the first layer: in every
// super-epoch, dropout on, at weights on the way.
func TestIsolatedGradients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	for i, kind := range behindTheFirst() {
		for turn := range 3 {
			c := 2 + (i+turn)%3
			if c == 4 && !long.Wanted() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%d", kind, c, turn), func(t *testing.T) {
				p, m, init := cutTask(t, kind, turn)
				part := scatterParts(p.Vertices(), c)
				tr := newTrainer(t, p, m, cpus(t, c), part, func(o *Options) { isolated(Isolated{})(o); o.Init, o.Epochs = init, c })
				for epoch := range tr.o.Epochs {
					compareIsolated(t, tr, p, m, part, epoch)
					if e := nextEpoch(t, tr); e.Halo.Lookups != 0 || e.Halo.Bytes.Total() != 0 {
						t.Errorf("epoch %d reads %d halo rows", epoch, e.Halo.Lookups)
					}
				}
			})
		}
	}
}

// compareIsolated compares the gradients of the epoch that comes next.
func compareIsolated(t *testing.T, tr *Trainer, p *learn.Problem, m named.Model, part []int32, epoch int) {
	t.Helper()
	if err := tr.hold(epoch, 0); err != nil {
		t.Fatal(err)
	}
	w, err := tr.Crew.Weights(tr.Weights)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, len(w.Flat))
	r := tr.isolation.Course
	for i := range r.Chunks {
		for k, x := range cutOff(p, m, part, r.Pair(i, tr.isolation.Held.Shift), w, epoch) {
			want[k] += x
		}
	}
	got, _ := gradients(t, tr)
	all := norm(want)
	for _, x := range got.Tensors {
		ref := want[x.Off:][:len(x.Data)]
		if d := differs(x.Data, ref); !(d <= 2e-5*max(norm(ref), 1e-2*all)) {
			t.Errorf("epoch %d: gradient of %s differs by %.3g of %.3g (all %.3g)", epoch, x.Name, d, norm(ref), all)
		}
	}
}

// isolatedVariants are what an isolated run may be.
func isolatedVariants() map[string]Isolated {
	v := map[string]Isolated{"both": {Targets: chunks.Both}, "all layers": {AllLayers: true}}
	for _, k := range chunks.Corrections {
		v[string(k)] = Isolated{Correction: k}
	}
	return v
}

// Isolated runs that were killed and resumed, inside a super-epoch and between two, have the bits of those that were
// not; so have runs with other threads.
func TestIsolatedResume(t *testing.T) {
	t.Parallel()
	variants := isolatedVariants()
	for k, kind := range kinds(t) {
		for j, name := range slices.Sorted(maps.Keys(variants)) {
			i := variants[name]
			if i.Correction.EdgeWeights() && kind.Attends() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				p, m := task{share: 0.3, sparse: k%2 == 1, directed: k > 1, vertices: 120}.make(t, kind)
				part := scatterParts(p.Vertices(), 4)
				options := func(dir string, edit func(*Options)) func(*Options) {
					return func(o *Options) {
						o.Epochs, o.CheckpointDir, o.CheckpointEvery, o.Identity = 8, dir, 1, "id"
						isolated(i)(o)
						edit(o)
					}
				}
				devices := cpus(t, 4)
				want := run(t, newTrainer(t, p, m, devices, part, options(t.TempDir(), func(*Options) {})))
				if want.Switches != 2 || want.HaloRows != 0 {
					t.Errorf("%d switches, %d halo rows", want.Switches, want.HaloRows)
				}
				for n, dies := range []int{1, 2, 6} {
					if n != (j+k)%3 && (testing.Short() || !long.Wanted()) {
						continue
					}
					dir := t.TempDir()
					crash(t, newTrainer(t, p, m, devices, part, options(dir, diesAfter(dies))))
					got := run(t, newTrainer(t, p, m, sharedCPU(t, 4), part, options(dir, func(o *Options) { o.Resume = true })))
					if got.WeightsSHA != want.WeightsSHA || got.FinalLoss != want.FinalLoss || got.Switches != want.Switches {
						t.Errorf("died after epoch %d: the resumed run differs", dies)
					}
				}
			})
		}
	}
}

// sharedCPU is one device with two threads for so many parts.
func sharedCPU(t *testing.T, parts int) []gpu.Device {
	t.Helper()
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d)
	return slices.Repeat([]gpu.Device{d}, parts)
}

// What an isolated run would take, counted on ledgers, is what it takes over all switches: byte for byte, and nothing
// is left.
func TestIsolatedLedger(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		for name, i := range isolatedVariants() {
			if i.Correction.EdgeWeights() && kind.Attends() {
				continue
			}
			const parts = 5
			p, m := task{share: 0.3, sparse: kind == named.GIN, multi: kind == named.SAGE}.make(t, kind)
			part := make([]int32, p.Vertices()) // of unequal sizes
			for v := range part {
				part[v] = int32(min(parts-1, v%(2*parts)))
			}
			edited := func(o *Options) { isolated(i)(o); o.Epochs = 2 * (parts - 1) }
			var books []gpu.Device
			for i := range parts {
				books = append(books, ledger.New(gpu.Info{Name: fmt.Sprintf("cpu:%d", i)}))
			}
			planned, devices := newTrainer(t, p, m, books, part, edited), cpus(t, parts)
			real := newTrainer(t, p, m, devices, part, edited)
			run(t, real)
			for i, d := range devices {
				if got, want := d.Memory().HighWater, books[i].Memory().HighWater; got != want {
					t.Errorf("%s, %s, part %d: %d bytes, planned %d", kind, name, i, got, want)
				}
			}
			planned.Close()
			real.Close()
			for i := range parts {
				if books[i].Memory().Used+devices[i].Memory().Used != 0 {
					t.Errorf("%s, %s, part %d: memory is left", kind, name, i)
				}
			}
		}
	}
}

// Ranks have the bits of one process.
func TestIsolatedRanks(t *testing.T) {
	for k, kind := range kinds(t) {
		correction := []chunks.Correction{chunks.None, chunks.Node, chunks.LongRun, chunks.Uniform}[k%4]
		if kind.Attends() && correction.EdgeWeights() {
			correction = chunks.Uniform
		}
		c := farRun{}
		c.p, c.m = task{share: 0.4, vertices: 200, directed: k%2 == 1}.make(t, kind)
		c.edit = func(_ *learn.Problem, o *Options) {
			isolated(Isolated{Targets: chunks.AllTargets[k%2], Correction: correction})(o)
			o.Epochs = 7
		}
		want, err := c.train(t, groupings["1x4"], nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range []string{"2x2", "3+1", "4x1"} {
			groups := groupings[group]
			got, err := c.train(t, groups, memoryRanks(t, len(groups), 0))
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, group, err)
			}
			for _, g := range got {
				if g != want[0] {
					t.Errorf("%s, %s: %s, alone %s", kind, group, g, want[0])
				}
			}
		}
	}
}

// With one layer nothing is cut, but in models whose first layer exchanges; and with two chunks every part holds the
// whole graph: gradients are those of a run that exchanges, at any depth.
func TestIsolatedNothingMissing(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		for _, c := range []int{2, 4} {
			for layers := 1; layers <= 5 && (c == 2 || layers == 1); layers++ {
				t.Run(fmt.Sprintf("%s/%d chunks/%d layers", kind, c, layers), func(t *testing.T) { nothingMissing(t, kind, c, layers) })
			}
		}
	}
}

// nothingMissing compares isolated gradients with those of one part. Where vertices lack neighbours, only variants
// that do nothing about it do.
func nothingMissing(t *testing.T, kind named.Kind, c, layers int) {
	p, m := task{share: 0.4, sparse: kind == named.SAGE, directed: layers%2 == 0, vertices: 150}.make(t, kind)
	m.Layers = layers
	weigh := func(o *Options) {
		if kind == named.GIN { // losses that weigh classes, too
			o.Task = weighed
		}
	}
	want, loss := gradients(t, newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), weigh))
	all := 0.0
	for _, x := range want.Flat {
		all += float64(x) * float64(x)
	}
	for name, i := range isolatedVariants() {
		if c > 2 && (i.AllLayers || kind.KeepsOrigin() || i.Correction != "") || i.Correction.EdgeWeights() && kind.Attends() {
			continue
		}
		tr := newTrainer(t, p, m, cpus(t, c), scatterParts(p.Vertices(), c), func(o *Options) {
			isolated(i)(o)
			weigh(o)
		})
		tr.terms /= tr.isolation.shareOfTarget()
		got, gotLoss := gradients(t, tr)
		for k, x := range want.Tensors {
			if d, norm := distance(got.Tensors[k].Data, x.Data); !(d <= 2e-5*max(norm, 1e-3*math.Sqrt(all))) {
				t.Errorf("%s: gradient of %s differs by %.3g of %.3g", name, x.Name, d, norm)
			}
		}
		if !(abs(gotLoss-loss) <= 1e-5) {
			t.Errorf("%s: loss %g, want %g", name, gotLoss, loss)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

// What does not go with isolated parts is said before anything is placed.
func TestIsolatedRefusals(t *testing.T) {
	p, m := task{share: 0.4, vertices: 30}.make(t, named.GAT)
	for name, edit := range map[string]func(o *Options){
		"one chunk":   func(o *Options) { o.Devices, o.Part = o.Devices[:1], make([]int32, p.Vertices()) },
		"weights":     func(o *Options) { o.Isolated.Correction = chunks.Inclusion },
		"correction":  func(o *Options) { o.Isolated.Correction = "nonsense" },
		"targets":     func(o *Options) { o.Isolated.Targets = "nonsense" },
		"caches":      func(o *Options) { o.Cache.Policy = "jaca" },
		"empty chunk": func(o *Options) { o.Part = make([]int32, p.Vertices()) },
	} {
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 1},
			Devices:  cpus(t, 3), Part: scatterParts(p.Vertices(), 3), Isolated: &Isolated{},
		}
		edit(&o)
		if tr, err := New(context.Background(), p, o); err == nil {
			tr.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
