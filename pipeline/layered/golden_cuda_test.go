//go:build cuda

package layered

import (
	"errors"
	"fmt"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/cuda"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// PyTorch's logits on two GPUs of the fake driver beside a CPU device, whole and in tiny chunks; with CAPGNN_CUDA_DRIVER=real on those of the machine.
func TestGoldenLogitsCUDA(t *testing.T) {
	libs, err := fake.Build()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	driver, err := cuda.Load(cuda.Options{Library: libs.Driver, NVML: libs.NVML, BLAS: cuda.BLASOff})
	if err == nil {
		err = fake.Configure("n=2;mem=64;p2p=00/00")
	}
	if err != nil {
		t.Fatal(err)
	}
	devices := cpus(t, 1)
	for i := range 2 {
		spec := cuda.Spec{Name: fmt.Sprintf("cuda:%d", i), Ordinal: i, Memory: 64 << 20}
		if n, err := driver.Count(); err == nil && fake.Real() {
			spec.Ordinal %= n
		}
		d, err := driver.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		devices = append(devices, d)
	}
	goldenCases(t, func(name string, p *learn.Problem, m named.Model, w *gnn.Weights, want []float32) {
		for _, chunk := range []gpu.Bytes{1, 0} {
			o := Options{Model: m, Devices: devices, Part: spread(p.Vertices(), 3), ChunkBytes: chunk, Precomputed: m.Kind.Precomputes() && chunk == 0}
			if far := away(evaluated(t, p, o, w), want); !(far <= 1e-5) {
				t.Errorf("%s, chunks of %d bytes: %.2g of the logits away", name, chunk, far)
			}
		}
	})
}
