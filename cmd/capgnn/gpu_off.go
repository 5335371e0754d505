//go:build !cuda

package main

import (
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/profiler"
)

// builtWithCUDA: this build opens no GPU.
const builtWithCUDA = false

// autoDevices is what --devices auto stands for, and why.
func autoDevices() ([]deviceSpec, string) {
	return []deviceSpec{{Text: "cpu:0", Label: "0", Slow: 1}}, "this build knows CPU devices only; name several with --devices"
}

// openGPU is not reached: parseDevices refuses GPUs.
func openGPU(s deviceSpec, _ int) (gpu.Device, error) {
	return nil, term.Usagef("--devices: %s: this build has no CUDA", s.name())
}

// findGPU is not reached either.
func findGPU(s deviceSpec) error {
	_, err := openGPU(s, 1)
	return err
}

func sameModel(a, b string) bool { return a == b }

// preparePinned has nothing to add: only GPUs are measured with page-locked memory.
func preparePinned(*profiler.Options) {}

// noteLinks knows no PCIe links.
func noteLinks(*profiler.Profile) {}

// examine says that there is nothing to examine.
func (d *diagnosis) examine() {
	d.problem("this build has no CUDA, so it trains on CPU devices only", "build it with `make gpu`, which needs a C compiler and neither toolkit nor driver")
}

// lockFor says how host memory is locked that rows of these devices pass through: as the system does it.
func lockFor([]deviceSpec) hostmem.LockOptions { return hostmem.LockOptions{} }
