package pipeline

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/pipeline/chunks"
)

// phased lets so many chunks train on as many workers as there are devices.
func phased(i Isolated, c int) func(*Options) {
	return func(o *Options) { i.Chunks = c; isolated(i)(o) }
}

// A step of a phase is one with the gradients of the pairs of this phase alone, the mean over their targets: in every phase, dropout on, also where the
// last phase has fewer parts than workers, some have no training vertex and targets are those of both chunks.
func TestPhaseGradients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	for i, kind := range behindTheFirst() {
		for k, at := range [][2]int{{3, 1}, {3, 2}, {5, 2}, {4, 4}} {
			if k != (i+1)%4 && !long.Wanted() {
				continue
			}
			c, workers := at[0], at[1]
			targets := chunks.AllTargets[(i+workers)%2]
			t.Run(fmt.Sprintf("%s/%d of %d/%s", kind, workers, c, targets), func(t *testing.T) {
				p, m, init := cutTask(t, kind, i+k)
				part := scatterParts(p.Vertices(), c)
				for v := range part { // chunk 1 has no training vertex
					p.Train[v] = p.Train[v] && part[v] != 1
				}
				tr := newTrainer(t, p, m, cpus(t, workers), part, func(o *Options) {
					phased(Isolated{Targets: targets}, c)(o)
					o.Init, o.Epochs, o.Optimizer = init, 2, gnn.Optimizer{Kind: gnn.SGD, LR: 1}
				})
				for epoch := range tr.o.Epochs {
					comparePhases(t, tr, p, m, epoch)
				}
			})
		}
	}
}

// comparePhases runs an epoch, and compares each of its steps.
func comparePhases(t *testing.T, tr *Trainer, p *learn.Problem, m named.Model, epoch int) {
	t.Helper()
	s := tr.isolation
	shift := s.Course.Schedule.At(epoch).Shift
	loss := 0.0
	for phase := range tr.phases() {
		before, err := tr.Crew.Weights(tr.Weights)
		if err != nil {
			t.Fatal(err)
		}
		want, targets := make([]float64, len(before.Flat)), 0.0
		for k := phase * len(tr.workers); k < min(s.Course.Chunks, (phase+1)*len(tr.workers)); k++ {
			pair := s.Course.Pair(k, shift)
			ways, weight := []chunks.Pair{pair}, 1.0
			if s.Targets == chunks.Both {
				ways, weight = append(ways, chunks.Pair{Base: pair.Added, Added: pair.Base}), 0.5
			}
			for _, way := range ways {
				for v := range p.Vertices() {
					if tr.o.Part[v] == int32(way.Base) && p.Trains(graph.NodeID(v)) {
						targets += weight
					}
				}
				for j, x := range cutOff(p, m, tr.o.Part, way, before, epoch) {
					want[j] += weight * x
				}
			}
		}
		share := targets / float64(p.TrainingVertices())
		if got := tr.shareOf(epoch, phase); math.Abs(got-share) > 1e-12 {
			t.Fatalf("epoch %d, phase %d: share %g, want %g", epoch, phase, got, share)
		}
		if share == 0 {
			continue
		}
		if err := tr.Stretch(epoch, phase, phase+1); err != nil {
			t.Fatal(err)
		}
		after, err := tr.Crew.Weights(tr.Weights)
		if err != nil {
			t.Fatal(err)
		}
		steps := before.Clone()
		for j := range want {
			want[j] /= share
			steps.Flat[j] -= after.Flat[j]
		}
		all := norm(want)
		for _, x := range steps.Tensors {
			ref := want[x.Off:][:len(x.Data)]
			if d := differs(x.Data, ref); !(d <= 2e-5*max(norm(ref), 1e-2*all)+1e-6) {
				t.Errorf("epoch %d, phase %d: step of %s differs by %.3g of %.3g (all %.3g)", epoch, phase, x.Name, d, norm(ref), all)
			}
		}
		for i, w := range tr.workers {
			setWeights(t, w, 0, before.Flat) // steps are too long to go on from
			loss += share * w.lossValue()
			if w.hold.idle != (s.Course.Part(phase, i) < 0) {
				t.Errorf("epoch %d, phase %d: worker %d is idle: %t", epoch, phase, i, w.hold.idle)
			}
		}
	}
	got := float64(tr.State.Partial.Loss)
	tr.State.Batch, tr.State.Partial = 0, trainer.Partial{}
	if math.Abs(got-loss) > 1e-9*loss {
		t.Errorf("epoch %d: loss %g, want %g", epoch, got, loss)
	}
}

// Any number of parts may train at a time: all of them have the bits of parts that do not take turns, one device those of one for each worker. A step is taken in
// each phase with a target, nothing is allocated behind the first, and evaluation is that of the whole graph.
func TestPhasesSweep(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds(t) {
		for _, c := range []int{2, 3, 7} {
			p, m := task{share: 0.3, sparse: k%2 == 1, directed: k > 1, multi: kind == named.GIN, vertices: 120}.make(t, kind)
			part := scatterParts(p.Vertices(), c)
			for v := range part { // some phases of one worker have no target
				p.Train[v] = p.Train[v] && part[v] != 0
			}
			edited := func(o *Options) {
				phased(Isolated{AllLayers: k%2 == 0, Targets: chunks.AllTargets[k/2%2]}, c)(o)
				o.Epochs = 5
			}
			whole := run(t, newTrainer(t, p, m, cpus(t, c), part, func(o *Options) { edited(o); o.Isolated.Chunks = 0 }))
			for _, workers := range []int{1, 2, 3, 5, c} {
				if workers > c {
					continue
				}
				tr := newTrainer(t, p, m, cpus(t, workers), part, edited)
				used := tr.workers[0].Device.Memory().HighWater
				got := run(t, tr)
				name := fmt.Sprintf("%s, %d of %d", kind, workers, c)
				if now := tr.workers[0].Device.Memory().HighWater; now != used {
					t.Errorf("%s: %d bytes of the device, %d before the first epoch", name, now, used)
				}
				steps := 0
				for epoch := range tr.o.Epochs {
					for phase := range tr.phases() {
						if tr.shareOf(epoch, phase) > 0 {
							steps++
						}
					}
				}
				if tr.Reduce.Steps() != steps || steps < tr.o.Epochs {
					t.Errorf("%s: %d steps, want %d", name, tr.Reduce.Steps(), steps)
				}
				if shared := run(t, newTrainer(t, p, m, sharedCPU(t, workers), part, edited)); told(shared) != told(got) {
					t.Errorf("%s: %s on one device, %s on several", name, told(shared), told(got))
				}
				if (got.WeightsSHA == whole.WeightsSHA) != (workers == c) {
					t.Errorf("%s: weights are those of all parts at a time: %t", name, workers != c)
				}
				checkScores(t, name, p, m, got)
			}
		}
	}
}

// checkScores compares the last scores of a run with those of predictions on one device.
func checkScores(t *testing.T, name string, p *learn.Problem, m named.Model, r *Result) {
	t.Helper()
	rows, err := Predict(t.Context(), p, PredictOptions{Model: netOf(m), Weights: r.Weights, Devices: cpus(t, 1), Part: make([]int32, p.Vertices())})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]graph.NodeID, p.Vertices())
	for v := range ids {
		ids[v] = graph.NodeID(v)
	}
	judge, err := learn.Of(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	var e learn.Evidence
	judge.Count(&e, ids, rows)
	all := learn.MetricsOf(judge, []learn.Evidence{e})
	for s, want := range []*float64{all.Train, all.Val, all.Test} {
		if got := []*float64{r.Last.Train, r.Last.Val, r.Last.Test}[s]; math.Abs(*got-*want) > 0.02 {
			t.Errorf("%s: split %d scores %g, want %g", name, s, *got, *want)
		}
	}
}

// Runs in phases that were killed and resumed behind every epoch have the bits of those that were not.
func TestPhasesResume(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds(t) {
		p, m := task{share: 0.3, sparse: k%2 == 1, directed: k > 1, vertices: 120}.make(t, kind)
		part := scatterParts(p.Vertices(), 5)
		options := func(dir string, edit func(*Options)) func(*Options) {
			return func(o *Options) {
				o.Epochs, o.CheckpointDir, o.CheckpointEvery, o.Identity = 6, dir, 1, "id"
				phased(Isolated{Targets: chunks.AllTargets[k%2]}, 5)(o)
				edit(o)
			}
		}
		want := run(t, newTrainer(t, p, m, cpus(t, 2), part, options(t.TempDir(), func(*Options) {})))
		for dies := range 6 {
			dir := t.TempDir()
			crash(t, newTrainer(t, p, m, cpus(t, 2), part, options(dir, diesAfter(dies))))
			got := run(t, newTrainer(t, p, m, sharedCPU(t, 2), part, options(dir, func(o *Options) { o.Resume = true })))
			if told(got) != told(want) || got.Switches != want.Switches || want.Switches < 6 {
				t.Errorf("%s, died after epoch %d: %s, want %s", kind, dies, told(got), told(want))
			}
		}
	}
}

// What a run in phases would take, counted on ledgers, is what it takes, byte for byte, and less than that of all parts at a time; nothing is left.
func TestPhasesLedger(t *testing.T) {
	t.Parallel()
	const parts = 6
	for _, kind := range kinds(t) {
		p, m := task{share: 0.3, sparse: kind == named.GIN, multi: kind == named.SAGE, vertices: 900}.make(t, kind)
		part := make([]int32, p.Vertices()) // of unequal sizes
		for v := range part {
			part[v] = int32(min(parts-1, v%(2*parts)))
		}
		var least gpu.Bytes
		for _, workers := range []int{1, 2, 4, parts} {
			edited := func(o *Options) { phased(Isolated{AllLayers: true}, parts)(o); o.Epochs = parts }
			book := ledger.New(gpu.Info{Name: "cpu:0"})
			var books []gpu.Device
			for range workers {
				books = append(books, book)
			}
			planned, devices := newTrainer(t, p, m, books, part, edited), sharedCPU(t, workers)
			real := newTrainer(t, p, m, devices, part, edited)
			run(t, real)
			got, want := devices[0].Memory().HighWater, book.Memory().HighWater
			if got != want {
				t.Errorf("%s, %d at a time: %d bytes, planned %d", kind, workers, got, want)
			}
			if workers > 1 && got <= least {
				t.Errorf("%s: %d at a time take %d bytes, fewer %d", kind, workers, got, least)
			}
			least = got
			planned.Close()
			real.Close()
			if book.Memory().Used+devices[0].Memory().Used != 0 {
				t.Errorf("%s, %d at a time: memory is left", kind, workers)
			}
		}
	}
}

// Ranks have the bits of one process, scores among them, also where the last phase leaves a rank without a part.
func TestPhasesRanks(t *testing.T) {
	for k, kind := range kinds(t) {
		c := farRun{}
		c.p, c.m = task{share: 0.4, vertices: 200, directed: k%2 == 1}.make(t, kind)
		c.edit = func(p *learn.Problem, o *Options) {
			phased(Isolated{Targets: chunks.AllTargets[k%2]}, []int{5, 7, 9, 4}[k%4])(o)
			o.Part = scatterParts(p.Vertices(), o.Isolated.Chunks)
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

// More workers than chunks, and none, are refused before anything is placed.
func TestPhasesRefusals(t *testing.T) {
	p, m := task{share: 0.4, vertices: 30}.make(t, named.GCN)
	for _, c := range []int{1, 2, 31} {
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 1},
			Devices:  cpus(t, 3), Part: scatterParts(p.Vertices(), max(1, c)), Isolated: &Isolated{Chunks: c},
		}
		if tr, err := New(t.Context(), p, o); err == nil {
			tr.Close()
			t.Errorf("%d chunks for 3 workers: no error", c)
		}
	}
}
