//go:build cuda

package minibatch

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/cuda"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/chunks"
)

// fakeDriver is the fake CUDA driver; with CAPGNN_CUDA_DRIVER=real that of the machine.
var fakeDriver = sync.OnceValues(func() (*cuda.Driver, error) {
	libs, err := fake.Build()
	if err != nil {
		return nil, err
	}
	return cuda.Load(cuda.Options{Library: libs.Driver, NVML: libs.NVML, BLAS: cuda.BLASOff})
})

// GPUs that do not reach each other, one beside a CPU device, give the gradient of CPU devices; rows travel page-locked.
func TestCUDASteps(t *testing.T) {
	driver, err := fakeDriver()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err == nil {
		err = fake.Configure("n=2;mem=64;p2p=00/00")
	}
	if err != nil {
		t.Fatal(err)
	}
	var gpus []gpu.Device
	for i := range 2 {
		ordinal := i
		if n, err := driver.Count(); err == nil && fake.Real() {
			ordinal %= n
		}
		d, err := driver.Open(cuda.Spec{Name: fmt.Sprintf("cuda:%d", i), Ordinal: ordinal, Memory: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		gpus = append(gpus, d)
	}
	for n, kind := range kinds(t) {
		for _, k := range []task{{cols: 33}, {sparse: true, multi: true}} {
			k.vertices = 150
			p, m := k.make(t, kind)
			o := small(m, nil, homes(p.Vertices(), 3))
			o.Lock = hostmem.LockOptions{Pinner: driver.Pinner(), Optional: true}
			if kind == named.GCN {
				o.Sampling.Fanout[2] = sample.All
			}
			from := gnn.NewWeights(netOf(m))
			from.Init(m.Seed)
			cpus := devices(t, 3, host.Spec{})
			o.Devices = cpus
			want := gradient(t, p, o, 1, from)
			o.Devices = []gpu.Device{gpus[0], o.Devices[0], gpus[1]}
			for _, c := range scattered() {
				if c.place != Batch && kind != named.SAGE {
					continue
				}
				c.set(&o.Sampling)
				closeTo(t, fmt.Sprintf("%s %+v, %v", kind, k, c.place), gradient(t, p, o, 1, from), want, zero(netOf(m)), 2e-5)
			}
			apart := o
			apart.Isolated = &Isolated{chunks.Isolated{Chunks: 5, Correction: chunks.Node}, homes(p.Vertices(), 5)}
			if apart.Isolated.AllLayers = kind.KeepsOrigin(); !kind.Attends() && k.sparse {
				apart.Isolated.Correction = chunks.Inclusion
			}
			kindOfRoots{}.set(&apart.Sampling)
			alone := apart
			alone.Devices = cpus
			closeTo(t, fmt.Sprintf("%s %+v, isolated", kind, k), gradient(t, p, apart, 1, from), gradient(t, p, alone, 1, from), zero(netOf(m)), 2e-5)
			o.Epochs = 1
			sha := trained(t, p, o).WeightsSHA
			o.Sampling.Samplers, o.Sampling.Prefetch = 2, 1
			o.Sampling.Fetch, o.Sampling.RowCache = rowcache.Rules{Kind: rowcache.Planned}, CacheSize{CacheShare, 0.2}
			if o.Sampling.Resident = []CacheSize{{CacheShare, 0.5}, noneResident}[n%2]; trained(t, p, o).WeightsSHA != sha {
				t.Errorf("%s %+v: samplers, a row cache or fewer resident rows changed the weights", kind, k)
			}
		}
	}
}
