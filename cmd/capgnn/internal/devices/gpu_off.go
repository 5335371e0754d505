//go:build !cuda

package devices

import (
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/profiler"
)

// BuiltWithCUDA: this build opens no GPU.
const BuiltWithCUDA = false

// Auto is what --devices auto stands for, and why.
func Auto() ([]Spec, string) {
	return []Spec{{Text: "cpu:0", Label: "0", Slow: 1}}, "this build has CPU devices only; list several with --devices"
}

// openGPU is not reached: Parse refuses GPUs.
func openGPU(s Spec, _ int) (gpu.Device, error) {
	return nil, term.Usagef("--devices: %s: this build has no CUDA", s.name())
}

// ProductsOn says who multiplies dense matrices on GPUs, of which there are none.
func ProductsOn([]Spec) Products { return Products{} }

// findGPU is not reached either.
func findGPU(s Spec) error {
	_, err := openGPU(s, 1)
	return err
}

// Release has nothing to give back.
func Release() {}

func sameModel(a, b string) bool { return a == b }

// preparePinned has nothing to add: only GPUs are measured with page-locked memory.
func preparePinned(*profiler.Options) {}

// noteLinks knows no PCIe links.
func noteLinks(*profiler.Profile) {}

// gpuMeter is not reached.
func gpuMeter(Spec) (meter, error) { return meter{}, nil }

// LockFor says how host memory is locked that rows of these devices pass through: as the system does it.
func LockFor([]Spec) hostmem.LockOptions { return hostmem.LockOptions{} }
