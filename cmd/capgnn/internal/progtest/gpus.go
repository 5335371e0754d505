//go:build cuda

package progtest

import (
	"errors"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// FakeGPUs lets programs of a test see fake GPUs, of which config says what they are.
func FakeGPUs(t *testing.T, config string) {
	t.Helper()
	libs, err := fake.Build()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(devices.DriverVariable, libs.Driver)
	t.Setenv(devices.NVMLVariable, libs.NVML)
	t.Setenv(devices.BLASVariable, libs.BLAS)
	t.Setenv("FAKECUDA", config)
}
