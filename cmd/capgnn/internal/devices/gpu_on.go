//go:build cuda

package devices

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/cuda"
	"capgnn/hostmem"
	"capgnn/profiler"
)

// BuiltWithCUDA: this build opens GPUs where a driver is there.
const BuiltWithCUDA = true

// Environment variables that name libraries in place of those that the system has. CAPGNN_CUBLAS=none does without.
const (
	DriverVariable = "CAPGNN_CUDA"
	NVMLVariable   = "CAPGNN_NVML"
	BLASVariable   = "CAPGNN_CUBLAS"
)

// GPUOptions is what the environment says of the libraries.
func GPUOptions() cuda.Options {
	o := cuda.Options{Library: os.Getenv(DriverVariable), NVML: os.Getenv(NVMLVariable), BLAS: os.Getenv(BLASVariable)}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if folder := os.Getenv(name); folder != "" {
			o.BLASFolders = append(o.BLASFolders, filepath.Join(folder, "lib64"))
		}
	}
	return o
}

// loaded is the driver once it is.
var loaded atomic.Pointer[cuda.Driver]

// GPUs loads the driver when somebody asks for a GPU, once.
var GPUs = sync.OnceValues(func() (*cuda.Driver, error) {
	driver, err := cuda.Load(GPUOptions())
	loaded.Store(driver)
	return driver, err
})

// Release gives back the contexts of GPUs that no device has open, before the program ends: that is when tools that watch a GPU write what
// they have seen. An error changes nothing for anybody.
func Release() {
	if driver := loaded.Load(); driver != nil {
		driver.Close()
	}
}

// Auto is what --devices auto stands for, and why: every GPU, or one CPU device where there is none.
func Auto() ([]Spec, string) {
	cpu := []Spec{{Text: "cpu:0", Label: "0", Slow: 1}}
	driver, err := GPUs()
	if err != nil {
		return cpu, term.OneLine(err) + "; see `capgnn doctor`"
	}
	n, err := driver.Count()
	if err != nil {
		return cpu, term.OneLine(err) + "; see `capgnn doctor`"
	}
	specs := make([]Spec, min(n, maxDevices))
	for i := range specs {
		label := strconv.Itoa(i)
		specs[i] = Spec{Text: "cuda:" + label, GPU: true, Label: label, Slow: 1}
	}
	return specs, "every GPU; choose with --devices"
}

// openGPU opens a GPU that share specs divide among them.
func openGPU(s Spec, share int) (gpu.Device, error) {
	driver, err := GPUs()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; see `capgnn doctor`", s.name(), err)
	}
	ordinal, err := strconv.Atoi(s.Label)
	if err != nil {
		return nil, err
	}
	return driver.Open(cuda.Spec{Name: s.name(), Ordinal: ordinal, Memory: s.Memory, Share: share, TF32: s.TF32})
}

// ProductsOn says who multiplies dense matrices on the GPUs of a list.
func ProductsOn(specs []Spec) Products {
	driver, err := GPUs()
	if err != nil {
		return Products{Who: ownKernels}
	}
	_, version, err := driver.BLAS()
	if err != nil {
		return Products{Who: ownKernels}
	}
	p := Products{Who: "cuBLAS " + version, Rounds: true}
	cards, err := driver.Cards()
	p.Half = err == nil && !slices.ContainsFunc(specs, func(s Spec) bool {
		i, err := strconv.Atoi(s.Label)
		return s.GPU && (err != nil || i >= len(cards) || !driver.HalfProducts(cards[i]))
	})
	return p
}

const ownKernels = "capgnn's own kernels"

// findGPU reports a GPU that is not there, without opening it.
func findGPU(s Spec) error {
	driver, err := GPUs()
	if err != nil {
		return fmt.Errorf("%s: %w; see `capgnn doctor`", s.name(), err)
	}
	n, err := driver.Count()
	if err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	if ordinal, err := strconv.Atoi(s.Label); err != nil || ordinal >= n {
		return fmt.Errorf("%s: %w: the driver shows GPUs 0 to %d", s.name(), gpu.ErrNoDevice, n-1)
	}
	return nil
}

// sameModel reports whether two GPUs, by number, are of one model.
func sameModel(a, b string) bool {
	driver, err := GPUs()
	if err != nil {
		return false
	}
	cards, err := driver.Cards()
	if err != nil {
		return false
	}
	model := func(label string) string {
		if i, err := strconv.Atoi(label); err == nil && i < len(cards) {
			return cards[i].Model
		}
		return label
	}
	return model(a) == model(b)
}

// preparePinned lets GPUs be measured with memory that the driver has page-locked.
func preparePinned(opt *profiler.Options) {
	driver, err := GPUs()
	if err != nil {
		return
	}
	opt.Pinned = func(n gpu.Bytes) ([]byte, func(), error) {
		p, err := hostmem.NewPinned("profile", "operand", int64(n), hostmem.LockOptions{Pinner: driver.Pinner()})
		if err != nil {
			return nil, nil, err
		}
		return p.Bytes(), func() { p.Close() }, nil
	}
	if _, version, err := cuda.Examine(GPUOptions()); err == nil {
		opt.Driver = version
	}
}

// noteLinks adds the PCIe links of the GPUs to a profile, as the management library has them.
func noteLinks(p *profiler.Profile) {
	cards, _, err := cuda.Examine(GPUOptions())
	if err != nil {
		return
	}
	for i := range p.Devices {
		for _, c := range cards {
			if c.UUID == p.Devices[i].UUID {
				p.Devices[i].Link = profiler.Link{Generation: c.Generation, Width: c.Width, MaxGeneration: c.MaxGeneration, MaxWidth: c.MaxWidth}
			}
		}
	}
}

// gpuMeter opens the meter of a GPU. One that knows no energy may know how busy it is.
func gpuMeter(s Spec) (x meter, err error) {
	driver, err := GPUs()
	if err != nil {
		return x, err
	}
	cards, err := driver.Cards()
	if err != nil {
		return x, err
	}
	ordinal, err := strconv.Atoi(s.Label)
	if err != nil || ordinal >= len(cards) { // no such GPU was opened
		return x, gpu.ErrNoDevice
	}
	m, err := cuda.OpenMeter(GPUOptions(), cards[ordinal].UUID)
	if err != nil {
		return x, err
	}
	_, err = m.Joules()
	return meter{id: cards[ordinal].UUID, joules: m.Joules, busy: m.Busy, close: m.Close}, err
}

// LockFor says how host memory is locked that rows of these devices pass through: by the driver where a GPU is among them.
func LockFor(specs []Spec) hostmem.LockOptions {
	if !slices.ContainsFunc(specs, func(s Spec) bool { return s.GPU }) {
		return hostmem.LockOptions{}
	}
	driver, err := GPUs()
	if err != nil {
		return hostmem.LockOptions{}
	}
	return hostmem.LockOptions{Pinner: driver.Pinner(), Optional: true}
}
