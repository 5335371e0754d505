package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/long"
	"capgnn/internal/named"
)

// islands hides peer access: rows between such devices go through host memory.
type island struct{ gpu.Device }

// islandQueue is a queue without CopyFrom.
type islandQueue struct{ gpu.Queue }

func (d island) NewQueue(name string) gpu.Queue { return islandQueue{d.Device.NewQueue(name)} }

func islands(t testing.TB, n int) []gpu.Device {
	out := cpus(t, n)
	for i, d := range out {
		out[i] = island{d}
	}
	return out
}

// Without peer access rows take the way through host memory: same bits, and the same bytes go down and up, but for the new weights, which
// go down once for both readers.
func TestStagedRoute(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.3, directed: true}.make(t, kind)
		const parts = 3
		part := scatterParts(p.Vertices(), parts)
		edit := func(u *gpu.Usage) func(*Options) {
			return func(o *Options) {
				o.Epochs, o.EvalEvery = 4, 2
				o.OnEpoch = func(e EpochStats) error { *u = e.Usage; return nil }
			}
		}
		var direct, staged gpu.Usage
		trainer := newTrainer(t, p, m, cpus(t, parts), part, edit(&direct))
		weights := gpu.Bytes(4 * trainer.workers[0].Params.Flat.Len)
		want := run(t, trainer)
		got := run(t, newTrainer(t, p, m, islands(t, parts), part, edit(&staged)))
		if got.WeightsSHA != want.WeightsSHA {
			t.Errorf("%s: weights differ from those of the peer route", kind)
		}
		losses := gpu.Bytes(8 * parts) // each part's loss goes down as well
		if staged.Peer != 0 || staged.H2D != direct.Peer || staged.D2H != direct.Peer-weights+losses {
			t.Errorf("%s: %d bytes down, %d up, %d peer; the peer route moves %d", kind, staged.D2H, staged.H2D, staged.Peer, direct.Peer)
		}
	}
}

// One device may hold several parts; the result is that of separate devices, and no row crosses a link.
func TestPartsShareADevice(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GAT)
	part := scatterParts(p.Vertices(), 4)
	want := run(t, newTrainer(t, p, m, cpus(t, 4), part, func(o *Options) { o.Epochs = 3 }))
	two := cpus(t, 2)
	got := run(t, newTrainer(t, p, m, []gpu.Device{two[0], two[1], two[0], two[1]}, part, func(o *Options) { o.Epochs = 3 }))
	if got.WeightsSHA != want.WeightsSHA {
		t.Error("weights differ")
	}
	one := cpus(t, 1)[0]
	alone := run(t, newTrainer(t, p, m, []gpu.Device{one, one, one, one}, part, func(o *Options) { o.Epochs = 3 }))
	if alone.WeightsSHA != want.WeightsSHA || alone.Usage.Peer != 0 {
		t.Errorf("on one device: %d peer bytes, weights equal: %t", alone.Usage.Peer, alone.WeightsSHA == want.WeightsSHA)
	}
}

// Odd depths, widths and heads: 3 parts equal one, which reads features as dense rows if it can, and finite differences would not be cheaper.
func TestOddShapes(t *testing.T) {
	t.Parallel()
	for n, kind := range kinds(t) {
		for i, c := range []struct{ layers, hidden, heads int }{{1, 16, 3}, {2, 33, 3}, {5, 7, 1}, {3, 65, 5}} {
			for j, k := range []task{{share: 0.2, directed: true, vertices: manyVertices}, {share: 0.2, sparse: true, multi: true, vertices: manyVertices}} {
				if (n+i+j)%2 > 0 && !long.Wanted() {
					continue // every two values come together
				}
				t.Run(fmt.Sprintf("%s/%d×%d/sparse=%t", kind, c.layers, c.hidden, k.sparse), func(t *testing.T) {
					p, m := k.make(t, kind)
					m.Layers, m.Hidden, m.Heads = c.layers, c.hidden, c.heads
					q := p
					if !netOf(m).DropsFeatures() { // what is dropped of dense rows is something else
						q = densified(p)
					}
					want, wantLoss := gradients(t, newTrainer(t, q, m, cpus(t, 1), make([]int32, p.Vertices()), nil))
					tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) { o.Epochs = 2 })
					got, gotLoss := gradients(t, tr)
					for i, x := range want.Tensors {
						// 2e-5 relative (docs/determinism.md); gradients that cancel to nothing are compared with the whole.
						_, all := distance(want.Flat, want.Flat)
						if d, norm := distance(got.Tensors[i].Data, x.Data); !(d <= 2e-5*max(norm, 1e-3*all)) {
							t.Errorf("gradient of %s differs by %.3g of %.3g", x.Name, d, norm)
						}
					}
					if d := gotLoss - wantLoss; d > 1e-5 || d < -1e-5 {
						t.Errorf("loss %v, want %v", gotLoss, wantLoss)
					}
					run(t, tr)
				})
			}
		}
	}
}

// A fault on one device ends the run with the device and the operation, and the others do not hang.
func TestDeviceFault(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), nil)
	bad := tr.workers[1]
	labels := make([]int32, bad.compared[0].Len/4)
	for i := range labels {
		labels[i] = 1 << 20
	}
	bad.Compute.Upload(bad.compared[0].Buf, 0, hostmem.Bytes(labels))
	_, err := tr.Run(context.Background())
	var fault *gpu.Fault
	if !errors.As(err, &fault) || fault.Device != "cpu:1" || fault.Op != "SoftmaxLoss" {
		t.Errorf("error %v, want a fault of cpu:1 in SoftmaxLoss", err)
	}
}
