//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// mostContexts bounds the contexts that the suite makes: one per GPU and Driver, and one for each that a test breaks.
const mostContexts = 30

// driver is the fake one, or with CAPGNN_CUDA_DRIVER=real that of the machine; nil where the fake one cannot be built.
var driver *Driver

func TestMain(m *testing.M) {
	libs, err := fake.Build()
	if errors.Is(err, fake.ErrNoCompiler) {
		fmt.Println("tests of gpu/cuda are skipped:", err)
		os.Exit(0)
	}
	if err == nil {
		driver, err = Load(Options{Library: libs.Driver, NVML: libs.NVML, BLAS: BLASOff})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	if contexts := fake.Count("contexts"); contexts > mostContexts {
		fmt.Printf("the suite made %d contexts, want %d at most: a GPU's is kept while nothing breaks it\n", contexts, mostContexts)
		code = 1
	}
	fake.Profile()
	os.Exit(code)
}

// configure makes the driver another one for the rest of the test. On a real driver a test is skipped that wants what only the
// fake one does.
func configure(t testing.TB, text string) {
	t.Helper()
	if err := fake.Configure(text); errors.Is(err, fake.ErrReal) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// onlyFake skips a test on a real driver.
func onlyFake(t testing.TB, why string) {
	t.Helper()
	if fake.Real() {
		t.Skipf("%v: %s", fake.ErrReal, why)
	}
}

// there is the GPU that stands for that of a spec: itself on the fake driver, which has as many as a test wants. On a machine
// with fewer one serves as several, under the names of all.
func there(t testing.TB, d *Driver, s Spec) Spec {
	t.Helper()
	if !fake.Real() {
		return s
	}
	n, err := d.Count()
	if err != nil {
		t.Fatal(err)
	}
	if s.Name == "" {
		s.Name = fmt.Sprintf("cuda:%d", s.Ordinal)
	}
	s.Ordinal %= n
	return s
}

// load loads the driver once more, with contexts and kernels of its own; the test gives them back.
func load(t testing.TB, o Options) *Driver {
	t.Helper()
	d, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// open opens a GPU; the test closes it.
func open(t testing.TB, s Spec) *device {
	t.Helper()
	dev, err := driver.Open(there(t, driver, s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Errorf("close %s: %v", dev.Info().Name, err)
		}
	})
	return dev.(*device)
}

// alloc takes memory of a device; it is freed with it.
func alloc(t testing.TB, d gpu.Device, n int, name string) gpu.Buffer {
	t.Helper()
	b, err := d.Alloc(gpu.Bytes(n), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
