package pipeline

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/checkpoint"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/pipeline/halo"
	"capgnn/rapa"
)

func run(t *testing.T, tr *Trainer) *Result {
	t.Helper()
	r, err := tr.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A rerun gives equal bits, whatever the number of threads.
func TestRerunAnyThreads(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.4, sparse: kind == named.SAGE}.make(t, kind)
		part := scatterParts(p.Vertices(), 2)
		dropped := dropReplicas(p.Graph, part, 2, 0.5)
		var want, wantPruned string
		for _, threads := range []int{1, 1, 2, 3} {
			devices := make([]gpu.Device, 2)
			for i := range devices {
				d, err := host.Open(host.Spec{Name: "cpu:0", Threads: threads})
				if err != nil {
					t.Fatal(err)
				}
				closeAfter(t, d)
				devices[i] = d
			}
			got := run(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Epochs = 6 })).WeightsSHA
			pruned := run(t, newTrainer(t, p, m, devices, part,
				func(o *Options) { o.Epochs, o.Dropped = 6, dropped })).WeightsSHA
			if want == "" {
				want, wantPruned = got, pruned
			}
			if got != want || pruned != wantPruned || got == pruned {
				t.Errorf("%s: %d threads give other weights, or pruning does not", kind, threads)
			}
		}
	}
}

// Evaluation changes no training bit.
func TestEvaluationIsSilent(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.3}.make(t, kind)
		var sha []string
		for _, every := range []int{0, 1, 3} {
			tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3),
				func(o *Options) { o.Epochs, o.EvalEvery = 7, every })
			sha = append(sha, run(t, tr).WeightsSHA)
		}
		if sha[0] != sha[1] || sha[0] != sha[2] {
			t.Errorf("%s: weights depend on how often evaluation runs", kind)
		}
	}
}

// Parts without a training vertex, without any needed row or without any vertex at all take part like the others.
func TestEmptyParts(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, k := range []task{{share: 0.002, directed: true, vertices: manyVertices},
			{share: 0.002, sparse: true, multi: true, vertices: manyVertices}} {
			p, m := k.make(t, kind)
			part := scatterParts(p.Vertices(), 5)
			for v := range part {
				if part[v] == 3 {
					part[v] = 2 // part 3 is empty
				}
			}
			one := newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), nil)
			five := newTrainer(t, p, m, cpus(t, 5), part, nil)
			want, wantLoss := gradients(t, one)
			got, gotLoss := gradients(t, five)
			if d, norm := distance(got.Flat, want.Flat); !(d <= 2e-5*norm) || math.Abs(gotLoss-wantLoss) > 1e-6 {
				t.Errorf("%s, %+v: gradient differs by %.3g of %.3g, loss %v, want %v", kind, k, d, norm, gotLoss,
					wantLoss)
			}
			run(t, five)
		}
	}
}

// Whatever cuts the graph, the gradients are those of one part.
func TestAnyPartitioner(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.3, directed: true}.make(t, kind)
		want, _ := gradients(t, newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), nil))
		for _, method := range []rapa.Method{"random", "streaming"} {
			plan, err := rapa.Partition(context.Background(), p.Graph, p.Train,
				rapa.Options{Method: method, Parts: 4, Seed: 2}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := gradients(t, newTrainer(t, p, m, cpus(t, 4), plan.Part, nil))
			for i, x := range want.Tensors {
				if d, norm := distance(got.Tensors[i].Data, x.Data); !(d <= 2e-5*norm) {
					t.Errorf("%s, %s: gradient of %s differs by %.3g of %.3g", kind, method, x.Name, d, norm)
				}
			}
		}
	}
}

func TestPatience(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	r := run(t, newTrainer(t, p, m, cpus(t, 1), make([]int32, p.Vertices()), func(o *Options) {
		o.Epochs, o.EvalEvery, o.Patience = 300, 1, 4
	}))
	if r.Stopped != "patience" || r.Epochs != r.BestEpoch+5 {
		t.Errorf("stopped %q after %d epochs, best epoch %d", r.Stopped, r.Epochs, r.BestEpoch)
	}
}

// Bytes counted by the devices equal the plan: Σ over exchanges of halo rows × width × element size, gradients and
// weights.
func TestBytesEqualPlan(t *testing.T) {
	for _, kind := range kinds(t) {
		testBytesEqualPlan(t, kind, gpu.FP32)
		if kind.StoresBF16() {
			testBytesEqualPlan(t, kind, gpu.BF16)
		}
	}
}

func testBytesEqualPlan(t *testing.T, kind named.Kind, storage gpu.DType) {
	p, m := task{share: 0.3, directed: true}.make(t, kind)
	const parts = 4
	var got gpu.Bytes
	tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
		o.Epochs, o.Storage = 3, storage
		o.OnEpoch = func(e EpochStats) error { got = e.Usage.Peer; return nil }
	})
	run(t, tr)
	want := gpu.Bytes(2*(parts-1)*4*len(tr.Weights.Flat)) + encodedBytes(tr, m, storage, halo.FP32)
	if got != want {
		t.Errorf("%s %v: %d bytes per epoch, planned %d", kind, storage, got, want)
	}
}

// A worker that does not answer ends the run with who waits for whom, within the deadline.
func TestDeadline(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2),
		func(o *Options) { o.WaitDeadline = 50 * time.Millisecond })
	err := tr.each(func(w *worker) error {
		if w.Index == 1 {
			return nil
		}
		return meet.Guard(func() { w.runTrain(0, 1, nil) })
	})
	if err == nil || !strings.Contains(err.Error(), "part 0 waited") || !strings.Contains(err.Error(), "for part 1") {
		t.Errorf("error %v does not say who waits for whom", err)
	}
}

// A loss that becomes NaN or infinite stops the run and says where it began; the checkpoints before it stay.
func TestDiverged(t *testing.T) {
	for _, kind := range kinds(t) {
		diverges(t, kind, 0.3, false, 1)
		if kind.Norms() {
			diverges(t, kind, 0.3, true, 1)
		}
	}
	diverges(t, named.GCN, 1, false, 1)
	diverges(t, named.GCN, 0.3, false, 0)
}

// diverges has training of a share of the vertices diverge, at a part and those behind it.
func diverges(t *testing.T, kind named.Kind, share float64, residual bool, part int) {
	t.Helper()
	p, m := task{share: share}.make(t, kind)
	if m.Residual = residual; residual {
		m.Layers = 4 // of which layer 1 keeps its sum
	}
	dir := t.TempDir()
	three, stop := context.WithCancel(context.Background())
	tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), func(o *Options) {
		o.CheckpointDir, o.CheckpointEvery = dir, 1
		o.OnEpoch = func(e EpochStats) error {
			if math.IsNaN(e.Loss) {
				t.Error("an epoch without a loss was reported")
			}
			if e.Epoch == 2 {
				stop()
			}
			return nil
		}
	})
	if r, err := tr.Run(three); err != nil || r.Epochs != 3 {
		t.Fatal(r, err)
	}
	tr.State.Stopped = ""
	poison := []float32{float32(math.Inf(1))}
	name, layer := "convs.1.bias", 1 // a norm's weights are no numbers only behind a gradient that was none
	switch {
	case kind == named.SAGE:
		name = "convs.1.lin_l.bias"
	case kind == named.GIN: // the ReLU inside its MLP turns NaN into 0
		name, layer = "convs.2.nn.lins.1.bias", 2
	case kind == named.SGC:
		name, layer = "lin.bias", 2
	case kind == named.APPNP: // layer 0 hands it to the other parts
		name, layer = "lin2.bias", 0
	case kind == named.GCNII:
		name, layer = "lins.1.bias", 2
	}
	off := tr.Weights.Tensor(name).Off
	for _, w := range tr.workers[part:] {
		setWeights(t, w, off, poison)
	}
	_, err := tr.Run(context.Background())
	var d *Diverged
	if !errors.As(err, &d) || d.Epoch != 3 || d.Layer != layer || d.Part != part && kind != named.APPNP {
		t.Errorf("%s: error %v, want a loss that diverged in epoch 3, layer %d, part %d", kind, err, layer, part)
	}
	if c, _, err := checkpoint.LoadLatest(dir); err != nil || c.Epoch != 3 {
		t.Errorf("%s: the checkpoint after epoch 3 is gone: %v", kind, err)
	}
}

// Running out of device memory is reported as such, with nothing left behind.
func TestOutOfMemory(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = New(context.Background(), p, Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 1},
		Devices:  []gpu.Device{d}, Part: make([]int32, p.Vertices()),
	})
	var oom *gpu.OutOfMemory
	if !errors.As(err, &oom) {
		t.Fatalf("error %v, want *gpu.OutOfMemory", err)
	}
	if used := d.Memory().Used; used != 0 {
		t.Errorf("%d bytes still allocated", used)
	}
}

// The validation loss of an epoch is the training loss of the next one, where the same vertices train and nothing is
// dropped.
func TestValidationLoss(t *testing.T) {
	for _, multi := range []bool{false, true} {
		p, m := task{share: 0.3, multi: multi, vertices: 300}.make(t, named.SAGE)
		m.Dropout, p.Val = 0, p.Train
		var last *float64
		tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), func(o *Options) {
			o.Epochs, o.EvalEvery = 5, 1
			o.OnEpoch = func(e EpochStats) error {
				if last != nil && math.Abs(*last-e.Loss) > 1e-5*e.Loss { // other sums of float32
					t.Errorf("many labels %v: loss %v in epoch %d, %v of validation before", multi, e.Loss, e.Epoch,
						*last)
				}
				if last = e.Metrics.ValLoss; last == nil {
					t.Errorf("many labels %v: no validation loss in epoch %d", multi, e.Epoch)
				}
				return nil
			}
		})
		run(t, tr)
		p.Val = make([]bool, p.Vertices())
		tr = newTrainer(t, p, m, cpus(t, 1), scatterParts(p.Vertices(), 1), func(o *Options) {
			o.Epochs = 1
			o.OnEpoch = func(e EpochStats) error {
				if e.Metrics.ValLoss != nil {
					t.Errorf("a loss of no vertices: %v", *e.Metrics.ValLoss)
				}
				return nil
			}
		})
		run(t, tr)
	}
}
