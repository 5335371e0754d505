//go:build cuda

package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/model"
	"capgnn/pipeline/halo"
)

// gpus opens fake GPUs: config says what they are, names which of them the parts live on, cpu:N among them.
func gpus(t testing.TB, config string, names ...string) (devices []gpu.Device, closeAll func()) {
	t.Helper()
	driver, err := fakeDriver()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err == nil {
		err = fake.Configure(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkContexts(t)
	once := sync.OnceFunc(func() {
		for _, d := range devices {
			if err := d.Close(); err != nil {
				t.Errorf("close %s: %v", d.Info().Name, err)
			}
		}
	})
	t.Cleanup(once)
	for _, name := range names {
		var d gpu.Device
		var ordinal int
		if _, cpu := fmt.Sscanf(name, "cuda:%d", &ordinal); cpu != nil {
			d, err = host.Open(host.Spec{Name: name, Threads: 1, Memory: 64 << 20, Poison: true})
		} else {
			d, err = driver.Open(gpuSpec(driver, name, ordinal, 16<<20))
		}
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	return devices, once
}

// someReach is a matrix of n GPUs of which neighbours of one pair reach each other, and others do not.
func someReach(n int) string {
	rows := make([]string, n)
	for i := range n {
		for j := range n {
			rows[i] += map[bool]string{true: "1", false: "0"}[i != j && i/2 == j/2]
		}
	}
	return strings.Join(rows, "/")
}

// numbered returns cuda:0 to cuda:n-1.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("cuda:%d", i))
	}
	return names
}

const cudaVertices = 210

// Fake GPUs, some of which reach each other, GPUs beside CPU devices, and one GPU twice give what CPU devices give on the
// same parts (docs/determinism.md).
func TestPartsAgreeCUDA(t *testing.T) {
	gpu, mixed, twice := [][]string{numbered(1), numbered(2), numbered(4), numbered(7)}, []string{"cuda:0", "cpu:0", "cuda:1"}, []string{"cuda:0", "cuda:0", "cuda:1"}
	lists := map[named.Kind][][]string{ // each list with two models, to save time
		named.GCN: append(gpu, mixed, twice), named.SAGE: {gpu[3], mixed}, named.GIN: {gpu[0], gpu[2], twice}, named.GAT: {gpu[1], gpu[2]},
	}
	for _, kind := range kinds(t) {
		if testing.Short() && kind != named.GCN {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			p, m := task{share: 0.4, vertices: cudaVertices, sparse: kind == named.SAGE, directed: kind == named.GIN, residual: kind == named.GIN || kind == named.GAT}.make(t, kind)
			one := cpus(t, 1)
			base, at := traceOf(t, newTrainer(t, p, m, one, make([]int32, p.Vertices()), nil), nil)
			renumbered := sync.OnceValue(func() *spread { return renumberings(t, p, m, one, base, at) })
			for _, names := range lists[kind] {
				part := scatterParts(p.Vertices(), len(names))
				want, _ := traceOf(t, newTrainer(t, p, m, cpus(t, len(names)), part, nil), at)
				devices, closeAll := gpus(t, "n=7;mem=32;p2p="+someReach(7), names...)
				tr := newTrainer(t, p, m, devices, part, nil)
				got, _ := traceOf(t, tr, at)
				checkTrace(t, strings.Join(names, " "), got, want, renumbered)
				tr.Close()
				closeAll()
			}
		})
	}
}

// A schedule changes no bit, whatever the seed; nor does the order of the threads of a block. Rows that are exchanged every
// epoch, and rows that are kept in caches and move beside the computing, through memory that the driver has page-locked.
func TestSchedulesCUDA(t *testing.T) {
	configs := []string{"", ";seed=1", ";seed=2;stretch=7", ";seed=3;stretch=200", ";seed=4;order=reverse", ";jitter=200;order=random:5"}
	if testing.Short() {
		configs = configs[:3]
	}
	for _, kind := range kinds(t) {
		p, m := task{share: 0.4, vertices: 90}.make(t, kind)
		part := scatterParts(p.Vertices(), 4)
		for name, cache := range map[string]halo.Options{
			"none":   {},
			"cached": {Policy: jaca.JACA, Staleness: 2, Pipeline: true, NoPeer: true}, // who reaches whom decides what is kept
		} {
			edit := func(o *Options) { o.Epochs, o.EvalEvery, o.Cache = 4, 2, cache }
			loss, want := run(t, newTrainer(t, p, m, cpus(t, 4), part, edit)).FinalLoss, ""
			for _, c := range configs {
				devices, closeAll := gpus(t, "n=4;mem=32;p2p="+someReach(4)+c, numbered(4)...)
				driver, _ := fakeDriver() // it is there: devices are open
				tr := newTrainer(t, p, m, devices, part, func(o *Options) {
					edit(o)
					o.Cache.Host = hostmem.LockOptions{Pinner: driver.Pinner()}
				})
				got := run(t, tr)
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
				closeAll()
				if want == "" {
					want = got.WeightsSHA
				}
				if got.WeightsSHA != want {
					t.Errorf("%s, %s: other weights with %q", kind, name, c)
				}
				if d := math.Abs(got.FinalLoss - loss); !(d <= 1e-4) {
					t.Errorf("%s, %s: loss %v on GPUs, %v on CPU devices", kind, name, got.FinalLoss, loss)
				}
			}
		}
	}
}

// Rows of a pass begin at sectors on a GPU. Kernels that load several elements read the gaps behind rows that are not as long, which the
// fake driver would report if nobody had written there. With LayerNorm and without it, with residuals and without them, and with jumping knowledge, whose products read and write columns of matrices.
func TestGapsCUDA(t *testing.T) {
	for _, c := range []struct {
		storage  gpu.DType
		noNorm   bool
		residual bool
		jumping  bool
		within   float64 // the GPUs' products of bf16 rows round what they read; on CPU devices they do not
	}{{gpu.FP32, false, false, false, 1e-5}, {gpu.FP32, true, false, false, 1e-5}, {gpu.BF16, false, false, false, 0.02}, {gpu.BF16, true, false, false, 0.02}, {gpu.FP32, false, true, false, 1e-5},
		{gpu.BF16, false, true, false, 0.02}, {gpu.BF16, true, true, false, 0.02}, {gpu.FP32, true, false, true, 1e-5}, {gpu.BF16, false, false, true, 0.02}, {gpu.FP32, false, true, true, 1e-5}} {
		p, m := task{share: 0.4, vertices: cudaVertices}.make(t, named.SAGE)
		p.Classes = 11
		m.Out, m.Hidden, m.Dropout, m.NoNorm, m.Residual, m.Jumping = p.Classes, 41, 0, c.noNorm, c.residual, c.jumping
		part := scatterParts(p.Vertices(), 2)
		result := func(devices []gpu.Device) float64 {
			return run(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Epochs, o.EvalEvery, o.Storage = 2, 1, c.storage })).FinalLoss
		}
		devices, closeAll := gpus(t, "n=2;mem=32;p2p=01/10", numbered(2)...)
		if got, want := result(devices), result(cpus(t, 2)); math.Abs(got-want) > c.within {
			t.Errorf("%v, without LayerNorm %t, residuals %t, jumping %t: loss %g, on CPU devices %g", c.storage, c.noNorm, c.residual, c.jumping, got, want)
		}
		closeAll()
	}
}

// Rows of an odd number of bf16 end in half a word: parts of one GPU, and of GPUs that
// reach each other or do not, read no memory that nobody has written, which the fake driver would report.
func TestEncodedRowsCUDA(t *testing.T) {
	for _, kind := range []named.Kind{named.GCN, named.GAT} { // GAT's backward rows have columns that are not encoded
		p, m := task{share: 0.4, vertices: 90}.make(t, kind)
		m.Hidden, m.Heads, m.Dropout = 13, 1, 0
		part := scatterParts(p.Vertices(), 4)
		for name, cache := range map[string]halo.Options{
			"bf16":           {HaloType: halo.BF16},
			"bf16, pipeline": {HaloType: halo.BF16, Policy: jaca.JACA, Staleness: 2, Pipeline: true},
		} {
			t.Run(fmt.Sprintf("%s, %s", kind, name), func(t *testing.T) {
				loss := func(devices []gpu.Device) float64 {
					return run(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Epochs, o.EvalEvery, o.Cache = 2, 1, cache })).FinalLoss
				}
				devices, _ := gpus(t, "n=3;mem=32;p2p=010/100/000", numbered(3)...)
				if got, want := loss(append(devices, devices[0])), loss(cpus(t, 4)); !(math.Abs(got-want) <= 1e-4) {
					t.Errorf("loss %v on GPUs, %v on CPU devices", got, want)
				}
			})
		}
	}
}

// GPUs drop the features that CPU devices drop, dense and sparse ones.
func TestDroppedFeaturesCUDA(t *testing.T) {
	for i, kind := range []named.Kind{named.APPNP, named.GCNII} {
		for _, sparse := range []bool{false, true} {
			p, m := task{share: 0.4, sparse: sparse, vertices: cudaVertices}.make(t, kind)
			m.Layers = 2
			part := scatterParts(p.Vertices(), 1+i)
			loss := func(devices []gpu.Device) float64 {
				return run(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Epochs = 2 })).FinalLoss
			}
			devices, closeAll := gpus(t, "n=2;mem=32;p2p=01/10", numbered(2)...)
			if got, want := loss(devices[:1+i]), loss(cpus(t, 1+i)); !(math.Abs(got-want) <= 1e-5) {
				t.Errorf("%s, sparse %t: loss %v on GPUs, %v on CPU devices", kind, sparse, got, want)
			}
			closeAll()
		}
	}
}

// GPUs have the activations of CPU devices, with LayerNorm and without, fused and not, and of rows in BF16.
func TestActivationsCUDA(t *testing.T) {
	for i, kind := range []named.Kind{named.GCN, named.SAGE, named.GIN, named.GAT, named.GATv2, named.APPNP, named.GCNII, named.SAGE, named.GCN} {
		p, m := task{share: 0.4, vertices: cudaVertices}.make(t, kind)
		m.Layers, m.Dropout, m.Activation, m.NoNorm = 3, 0.3, model.Activations[1+i%3], i%2 == 1
		part, storage := scatterParts(p.Vertices(), 2), gpu.FP32
		within := 1e-5
		if i > 6 { // products of bf16 rows round what they read
			storage, within = gpu.BF16, 0.02
		}
		loss := func(devices []gpu.Device) float64 {
			return run(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Epochs, o.Storage = 2, storage })).FinalLoss
		}
		devices, closeAll := gpus(t, "n=2;mem=32;p2p=01/10", numbered(2)...)
		if got, want := loss(devices), loss(cpus(t, 2)); !(math.Abs(got-want) <= within) {
			t.Errorf("%s, %s, without LayerNorm %t, %v: loss %v on GPUs, %v on CPU devices", kind, m.Activation, m.NoNorm, storage, got, want)
		}
		closeAll()
	}
}
