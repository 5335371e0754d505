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

// driver is the fake one; nil where it cannot be built.
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
	os.Exit(m.Run())
}

// configure makes the driver another one for the rest of the test.
func configure(t testing.TB, text string) {
	t.Helper()
	if err := fake.Configure(text); err != nil {
		t.Fatal(err)
	}
}

// open opens a GPU; the test closes it.
func open(t testing.TB, s Spec) *device {
	t.Helper()
	dev, err := driver.Open(s)
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
