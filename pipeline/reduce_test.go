package pipeline

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/reduce"
)

// reduceWhole adds the gradients of all parts to part 0's, in part order, each as one vector, on part 0's compute queue. All
// queues must have run their backward pass. It is what the bits of package reduce are compared with.
func reduceWhole(tr *Trainer) {
	w0, most := tr.workers[0], 0
	for _, ranges := range tr.Weights.Layers() {
		for _, g := range ranges {
			most = max(most, g.Hi-g.Lo)
		}
	}
	for _, w := range tr.workers[1:] {
		g, stage := row(w.Grads.Flat), w0.matrix("gradients of another part", 1, most)
		for lo := 0; lo < g.Cols; lo += most {
			hi := min(g.Cols, lo+most)
			piece := stage.ColRange(0, hi-lo)
			moveWhole(w0, piece, w, g.ColRange(lo, hi))
			w0.Compute.Axpby(row(w0.Grads.Flat).ColRange(lo, hi), 1, piece, 1)
		}
	}
}

// wholeSteps is the reduction of part 0 alone, which takes the steps of whole vectors.
func wholeSteps(tr *Trainer) *reduce.Reduction {
	w0, d := tr.workers[0], reduce.DivideRank(tr.Weights.Layers(), []int{0}, reduce.Rank{})
	return reduce.New(tr.Hub, []reduce.Part{{Compute: w0.Compute, Weights: w0.Params.Flat, Gradients: w0.Grads.Flat, Reach: []bool{true},
		Owner: d.NewOwner(w0.Alloc, w0.Compute, tr.o.Optimizer, 0)}}, d)
}

// updateWhole is reduceWhole, the step, and the weights' way to all parts.
func updateWhole(tr *Trainer, steps *reduce.Reduction) {
	reduceWhole(tr)
	w0 := tr.workers[0]
	steps.Finish(0)
	updated := w0.Compute.Record()
	for _, w := range tr.workers[1:] {
		w.Compute.Wait(updated)
		moveWhole(w, row(w.Params.Flat), w0, row(w0.Params.Flat))
	}
}

// row views a vector as a matrix of one row.
func row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}

// moveWhole copies a row between devices on the reader's compute queue.
func moveWhole(to *worker, dst gpu.Matrix, from *worker, src gpu.Matrix) {
	if to.ep.Peers[from.Index] {
		to.Compute.Copy(dst, src)
		return
	}
	if to.ep.Reach[from.Index] {
		to.Compute.(gpu.PeerCopier).CopyFrom(dst, src)
		return
	}
	host := make([]byte, 4*src.Cols)
	from.Compute.Download(host, src.Buf, 4*gpu.Bytes(src.Off))
	to.Compute.Wait(from.Compute.Record())
	to.Compute.Upload(dst.Buf, 4*gpu.Bytes(dst.Off), host)
}

// epochWhole is trainEpoch with the update behind the backward passes of all parts. It returns what the update took.
func epochWhole(t testing.TB, tr *Trainer, steps *reduce.Reduction, epoch int) time.Duration {
	t.Helper()
	tr.Hub.Epoch = epoch
	backward(t, tr, epoch, 1/tr.terms, nil, nil)
	start := trainer.Now(tr.o.Devices)
	updateWhole(tr, steps)
	for _, w := range tr.workers {
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	return trainer.Now(tr.o.Devices) - start
}

// shaAfter returns the weights' identity after some epochs.
func shaAfter(t *testing.T, tr *Trainer, epochs int, epoch func(int)) string {
	t.Helper()
	for e := range epochs {
		epoch(e)
	}
	var want string
	for _, w := range tr.workers {
		weights := tr.Weights.Clone()
		copy(weights.Flat, partWeights(t, w))
		sha := weights.SHA256()
		if want == "" {
			want = sha
		}
		if sha != want {
			t.Fatalf("part %d has other weights than part 0", w.Index)
		}
	}
	return want
}

// Sums beside the backward pass give the bits of sums behind it, over peer routes, staged routes and shared devices, whatever
// arrives first and in how many pieces a layer lies.
func TestReductionBits(t *testing.T) {
	t.Parallel()
	const epochs = 4
	shared := func(t testing.TB, n int) []gpu.Device {
		two := cpus(t, 2)
		out := make([]gpu.Device, n)
		for i := range out {
			out[i] = two[i/2%2]
		}
		return out
	}
	one := func(t testing.TB, n int) []gpu.Device {
		out := islands(t, n)
		out[n-1] = cpus(t, 1)[0] // reaches nobody, and nobody it, but by the host
		return out
	}
	names := []string{"peer", "staged", "shared", "mixed"}
	open := []func(testing.TB, int) []gpu.Device{cpus, islands, shared, one}
	for k, kind := range kinds(t) {
		for n, parts := range []int{1, 2, 3, 5} {
			p, m := task{share: 0.3, directed: true, sparse: parts == 3}.make(t, kind)
			part := scatterParts(p.Vertices(), parts)
			want := newTrainer(t, p, m, cpus(t, parts), part, nil)
			steps := wholeSteps(want)
			sha := shaAfter(t, want, epochs, func(e int) { epochWhole(t, want, steps, e) })
			for i, devices := range open {
				name := names[i]
				for j, late := range []int{-1, 0, parts - 1} {
					if (k+n+i+j)%3 > 0 && !long.Wanted() { // a third of the cases has all pairs
						continue
					}
					tr := newTrainer(t, p, m, devices(t, parts), part, nil)
					if late == 0 {
						redivide(t, tr, halved(tr.Weights.Layers()))
					}
					got := shaAfter(t, tr, epochs, func(e int) { epochLate(t, tr, e, late) })
					if got != sha {
						t.Errorf("%s, %d parts, %s, part %d late: the bits differ from those of whole sums", kind, parts, name, late)
					}
				}
			}
		}
	}
}

// redivide has a trainer reduce layers that lie elsewhere.
func redivide(t *testing.T, tr *Trainer, layers [][]gnn.Range) {
	t.Helper()
	d := tr.Options.Division(layers)
	var parts []reduce.Part
	for _, w := range tr.workers {
		w.Owner = d.NewOwner(w.Alloc, w.Compute, tr.o.Optimizer, w.Index)
		if err := w.Compute.Sync(); err != nil || w.Failed != nil {
			t.Fatal(err, w.Failed)
		}
		parts = append(parts, reduce.Part{Compute: w.Compute, Queues: w.Reduce, Waits: &w.Waits, Weights: w.Params.Flat,
			Gradients: w.Grads.Flat, Reach: w.ep.Reach[tr.o.First:], Owner: w.Owner})
	}
	tr.Reduce = reduce.New(tr.Hub, parts, d)
}

// halved cuts every range in two.
func halved(layers [][]gnn.Range) [][]gnn.Range {
	out := make([][]gnn.Range, len(layers))
	for l, ranges := range layers {
		for _, g := range ranges {
			mid := (g.Lo + g.Hi) / 2
			out[l] = append(out[l], gnn.Range{Lo: mid, Hi: g.Hi}, gnn.Range{Lo: g.Lo, Hi: mid})
		}
	}
	return out
}

// epochLate is an epoch in which one part is late with each layer's gradients.
func epochLate(t *testing.T, tr *Trainer, epoch, late int) {
	t.Helper()
	tr.Hub.Epoch = epoch
	done := func(w *worker, layer int) {
		if w.Index == late {
			time.Sleep(2 * time.Millisecond)
		}
		tr.Reduce.Done(w.Index, layer)
	}
	backward(t, tr, epoch, 1/tr.terms, done, func(w *worker) { tr.Reduce.Finish(w.Index) })
}

// When a layer is said to be done, its gradients are what they are after the whole pass, and the others are not yet all there. Its weights
// are read no more: NaN in their place changes nothing.
func TestLayersDone(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, k := range []task{{share: 0.3}, {share: 0.3, sparse: true, multi: true}} {
			for name, drops := range map[string]bool{"plain": false, "dropped features": true} {
				p, m := k.make(t, kind)
				m.DropFeatures = drops && kind.Norms()
				tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), nil)
				layers := tr.Weights.Layers()
				seen := make([][][]float32, 2)
				done := func(w *worker, layer int) {
					if want := len(layers) - 1 - len(seen[w.Index]); layer != want {
						t.Errorf("%s: layer %d is done, want %d", kind, layer, want)
					}
					all := make([]float32, w.Grads.Flat.Len)
					w.Compute.Download(hostmem.Bytes(all), w.Grads.Flat.Buf, 0)
					seen[w.Index] = append(seen[w.Index], all)
					for _, g := range layers[layer] {
						w.Compute.Fill(row(w.Params.Flat.Slice(g.Lo, g.Hi)), float32(math.NaN()))
					}
				}
				backward(t, tr, 0, 1/tr.terms, done, nil)
				for i, w := range tr.workers {
					final := partGradient(t, w)
					if len(seen[i]) != len(layers) || slices.Equal(seen[i][0], final) {
						t.Fatalf("%s, %s: %d layers done of %d, or all with the first", kind, name, len(seen[i]), len(layers))
					}
					for k, then := range seen[i] {
						l := len(layers) - 1 - k
						for _, g := range layers[l] {
							if !slices.Equal(then[g.Lo:g.Hi], final[g.Lo:g.Hi]) {
								t.Errorf("%s, %s, part %d: gradients of layer %d change when they are done", kind, name, i, l)
							}
						}
					}
				}
			}
		}
	}
}

// On slow links the simulated epoch is shorter by what sums overlap with, and Reduce is what is left behind the backward pass.
func TestReductionOverlaps(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, peer := range []bool{false, true} {
			const rate, parts = 1e9, 3
			p, m := task{share: 0.3, vertices: manyVertices}.make(t, kind)
			m.Hidden, m.Layers = 64, 4
			part := scatterParts(p.Vertices(), parts)
			start := func() *Trainer {
				return newTrainer(t, p, m, simulated(t, parts, func(_ int, c *sim.Config) {
					c.Peer, c.Rates.H2D, c.Rates.D2H = peer, rate, rate
					c.Rates.FlopsPerSec, c.Rates.GatherPerSec = 2e11, 1e10
				}), part, nil)
			}
			whole, beside := start(), start()
			steps := wholeSteps(whole)
			epochWhole(t, whole, steps, 0)
			from := trainer.Now(whole.o.Devices)
			behind := epochWhole(t, whole, steps, 1)
			want := trainer.Now(whole.o.Devices) - from
			var e EpochStats
			for range 2 {
				e = nextEpoch(t, beside)
			}
			t.Logf("%s, peer %t: epoch %v, of it the update %v; with whole sums %v, %v", kind, peer, e.Train, e.Reduce, want, behind)
			// All but the first layer's gradients can be on their way to part 0 beside the backward pass: half of that must be.
			early := len(beside.Weights.Flat) - beside.Weights.Layers()[0][0].Hi
			half := time.Duration((parts - 1) * 4 * float64(early) / rate * 1e9 / 2)
			saved, less := want-e.Train, behind-e.Reduce
			if saved < half || less < saved || e.Reduce <= 0 {
				t.Errorf("%s, peer %t: the epoch is shorter by %v and the update behind it by %v, want %v", kind, peer, saved, less, half)
			}
		}
	}
}

// Whoever does not hand over gradients or weights is named when the deadline has passed.
func TestReductionDeadline(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	for silent, want := range map[int]string{1: "epoch 7: part 0 waited 50ms for part 1: gradients of layer 0", 0: "part 1 waited 50ms for part 0: gradients of layer 0"} {
		tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), func(o *Options) { o.WaitDeadline = 50 * time.Millisecond })
		tr.Hub.Epoch = 7
		err := tr.each(func(w *worker) error {
			return meet.Guard(func() {
				w.runTrain(7, 1, func(layer int) {
					if w.Index != silent || layer == 2 {
						tr.Reduce.Done(w.Index, layer)
					}
				})
				if w.Index != silent {
					tr.Reduce.Finish(w.Index)
				}
			})
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("part %d is silent: error %v, want %q", silent, err, want)
		}
	}
}

// Where weights are as many as those of 8,415 features, four and eight equal cards are not slower than two, through the host and with copies
// between cards: the shape and the ratio of computing to transfers are those of coauthor_physics on RTX 3090. The time of gradients and weights
// is told apart: on every card it is that of its slices, not of all parts' gradients.
func TestCardsWithManyWeights(t *testing.T) {
	const vertices, smaller = manyVertices, 34493.0 / manyVertices
	p, m := task{share: 0.7, vertices: vertices}.make(t, named.GCN)
	p.Features = learn.Features{Cols: 8415, Dense: make([]float32, vertices*8415)}
	m.In, m.Hidden = p.Features.Cols, 256
	card, err := sim.FindCard("rtx3090")
	if err != nil {
		t.Fatal(err)
	}
	bytes := 4 * float64(gnn.FlatLen(netOf(m)))
	for _, peer := range []bool{false, true} {
		took := map[int]time.Duration{}
		for _, cards := range []int{2, 4, 8} {
			devices := simulated(t, cards, func(_ int, c *sim.Config) {
				c.Rates, c.Memory, c.Peer = card.Rates(), 1<<30, peer
				c.Rates.FlopsPerSec, c.Rates.GatherPerSec, c.Rates.BytesPerSec = c.Rates.FlopsPerSec/smaller, c.Rates.GatherPerSec/smaller, c.Rates.BytesPerSec/smaller
			})
			part := make([]int32, vertices)
			for v := range part {
				part[v] = int32(v * cards / vertices)
			}
			o := Options{
				Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
				Devices:  devices, Part: part,
			}
			s, err := Simulate(t.Context(), p, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			took[cards] = s.Epoch
			most := 2*bytes*float64(cards-1)/float64(cards) + float64(64*cards)
			for i, u := range s.Gradients {
				if in, out := float64(u.H2D+u.Peer), float64(u.D2H); in > most || out > most || in == 0 {
					t.Errorf("%d cards, peer %t, part %d: %.0f bytes of gradients and weights in, %.0f out, want %.0f at most", cards, peer, i, in, out, most)
				}
			}
			t.Logf("%d cards, peer %t: epoch %v, update behind the backward pass %v, gradients and weights at least %v", cards, peer, s.Epoch, s.Reduce,
				time.Duration(1e9*most/card.Rates().H2D))
		}
		if took[4] > took[2] || took[8] > took[2] {
			t.Errorf("peer %t: epochs %v", peer, took)
		}
	}
}
