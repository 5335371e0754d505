//go:build cuda

package pipeline

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/internal/golden"
)

// fakeDriver is the fake CUDA driver, built and loaded at the first call; with CAPGNN_CUDA_DRIVER=real that of the machine.
var fakeDriver = sync.OnceValues(func() (*cuda.Driver, error) {
	libs, err := fake.Build()
	if err != nil {
		return nil, err
	}
	return cuda.Load(cuda.Options{Library: libs.Driver, NVML: libs.NVML, BLAS: cuda.BLASOff})
})

// fakeGPUs opens n GPUs of the fake driver, of which neighbours reach each other's memory, and CPU devices on top. The test is
// skipped where the driver cannot be built.
func fakeGPUs(t *testing.T, n, cpu int) []gpu.Device {
	t.Helper()
	driver, err := fakeDriver()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err == nil {
		err = fake.Configure(fmt.Sprintf("n=%d;mem=64;p2p=%s", n, chain(n)))
	}
	if err != nil {
		t.Fatal(err)
	}
	checkContexts(t)
	var out []gpu.Device
	for i := range n {
		d, err := driver.Open(gpuSpec(driver, fmt.Sprintf("cuda:%d", i), i, 64<<20))
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, d)
		out = append(out, d)
	}
	return append(out, cpus(t, cpu)...)
}

// mostContexts bounds the GPU contexts that the suite makes: one for each GPU of the test with the most, and one for each that a
// test loses. Tests open some hundred GPUs; on a real one a context and its kernels take seconds.
const mostContexts = 12

// checkContexts holds the suite to that.
func checkContexts(t testing.TB) {
	t.Helper()
	if n := fake.Count("contexts"); n > mostContexts {
		t.Fatalf("%d contexts were made, want %d at most", n, mostContexts)
	}
}

// gpuSpec names the GPU that stands for number i: itself on the fake driver, on a machine with fewer one that serves as several.
func gpuSpec(driver *cuda.Driver, name string, i int, memory gpu.Bytes) cuda.Spec {
	if n, err := driver.Count(); err == nil && fake.Real() {
		i %= n
	}
	return cuda.Spec{Name: name, Ordinal: i, Memory: memory}
}

// chain is the peer matrix of n GPUs that reach their neighbours only.
func chain(n int) (rows string) {
	for i := range n {
		if i > 0 {
			rows += "/"
		}
		for j := range n {
			if i-j == 1 || j-i == 1 {
				rows += "1"
			} else {
				rows += "0"
			}
		}
	}
	return rows
}

// The golden cases on fake GPUs: one, several of which not all reach each other, and a GPU beside a CPU.
func TestGoldenCUDA(t *testing.T) {
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, mix := range [][2]int{{1, 0}, {3, 0}, {1, 1}} {
			t.Run(fmt.Sprintf("%s/%dgpu%dcpu", c.Name, mix[0], mix[1]), func(t *testing.T) {
				testGolden(t, &c, fakeGPUs(t, mix[0], mix[1]))
			})
		}
	}
}
