//go:build cuda

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu/cuda"
)

// The oldest driver and GPU that the kernels are compiled for.
const (
	oldestCUDA       = 11080 // CUDA 11.8
	oldestCapability = 60    // sm_60
)

// examine looks at the driver, every GPU and cuBLAS.
func (d *diagnosis) examine() {
	cards, version, nvml := cuda.Examine(devices.GPUOptions())
	d.Driver = version
	for _, h := range cards {
		d.GPUs = append(d.GPUs, gpuReport{Model: h.Model, UUID: h.UUID, Total: h.Total, Free: h.Free, Generation: h.Generation, Width: h.Width,
			MaxGeneration: h.MaxGeneration, MaxWidth: h.MaxWidth, Temperature: h.TemperatureCelsius, Power: h.PowerWatts, Reaches: []string{}})
	}
	driver, err := devices.GPUs()
	if err != nil {
		d.problem(term.OneLine(err), noDriverMend(len(cards)))
		return
	}
	if nvml != nil {
		d.problem(fmt.Sprintf("temperature, PCIe link and free memory are not known: %s", term.OneLine(nvml)),
			"install libnvidia-ml.so.1, which comes with the driver, or name it with "+devices.NVMLVariable)
	}
	d.examineDriver(driver)
	d.examineCards()
	if path, version, err := driver.BLAS(); err != nil {
		d.problem(fmt.Sprintf("no cuBLAS, so dense products use capgnn's own kernels: %s", term.OneLine(err)),
			"install cuBLAS (it comes with the CUDA toolkit), or name the library with "+devices.BLASVariable)
	} else {
		d.BLAS = &blasReport{path, version}
	}
}

// noDriverMend says what helps where no GPU can be used although there may be n.
func noDriverMend(n int) string {
	if v, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q: unset it, or name GPUs that exist", v)
	}
	if n > 0 {
		return fmt.Sprintf("the kernel driver has %d GPUs: start the container with access to the GPUs and to the driver's libcuda.so.1", n)
	}
	return "install NVIDIA's driver, and see that nvidia-smi lists the GPU; without one train on CPU devices (cpu:0)"
}

// examineDriver fills in what CUDA says of the GPUs that it shows.
func (d *diagnosis) examineDriver(driver *cuda.Driver) {
	v := driver.Version()
	d.Library = driver.Path()
	d.Supports = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	if v < oldestCUDA {
		d.problem(fmt.Sprintf("the driver supports CUDA %s", d.Supports), "update it to one for CUDA 11.8 or newer: release 520 or newer")
	}
	cards, err := driver.Cards()
	if err != nil {
		d.problem(term.OneLine(err), "see what nvidia-smi says of the GPU; restart the machine if it has fallen off the bus")
		return
	}
	for i, c := range cards {
		k := slices.IndexFunc(d.GPUs, func(g gpuReport) bool { return g.UUID == c.UUID })
		if k < 0 {
			k = len(d.GPUs)
			d.GPUs = append(d.GPUs, gpuReport{Model: c.Model, UUID: c.UUID, Total: c.Total, Free: -1, Reaches: []string{}})
		}
		g := &d.GPUs[k]
		g.Device, g.Capability = fmt.Sprintf("cuda:%d", i), fmt.Sprintf("%d.%d", c.Major, c.Minor)
		g.HalfProducts = driver.HalfProducts(c)
		for j, can := range c.Peers {
			if can {
				g.Reaches = append(g.Reaches, fmt.Sprintf("cuda:%d", j))
			}
		}
		if 10*c.Major+c.Minor < oldestCapability {
			d.problem(fmt.Sprintf("%s has compute capability %s, capgnn's kernels need %d.%d", g.Device, g.Capability, oldestCapability/10, oldestCapability%10),
				"leave it out of --devices")
			continue
		}
		d.tryToOpen(driver, g.Device, i)
	}
}

// tryToOpen loads the kernels on a GPU and takes a little memory.
func (d *diagnosis) tryToOpen(driver *cuda.Driver, name string, ordinal int) {
	dev, err := driver.Open(cuda.Spec{Name: name, Ordinal: ordinal})
	if err == nil {
		if _, err = dev.Alloc(1<<20, "doctor"); err == nil {
			err = dev.NewQueue("doctor").Sync()
		}
		if closed := dev.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		d.problem(fmt.Sprintf("%s cannot be used: %s", name, term.OneLine(err)), "see with nvidia-smi whether other processes hold its memory or have it to themselves")
	}
}

// examineCards looks for what slows GPUs down.
func (d *diagnosis) examineCards() {
	var hidden, apart []string
	for i := range d.GPUs {
		g := &d.GPUs[i]
		if g.Device == "" {
			hidden = append(hidden, g.Model)
			continue
		}
		if g.Width > 0 && g.Width < g.MaxWidth {
			d.problem(fmt.Sprintf("%s has %d of %d PCIe lanes", g.Device, g.Width, g.MaxWidth), "put it into a slot with all lanes, or give it less to exchange")
		}
		if g.Free >= 0 && g.Free < g.Total/2 {
			d.problem(fmt.Sprintf("%s has %s of %s free", g.Device, term.Size(g.Free), term.Size(g.Total)), "nvidia-smi lists the processes that hold its memory")
		}
		for j := range i {
			if o := d.GPUs[j].Device; o != "" && !(slices.Contains(g.Reaches, o) && slices.Contains(d.GPUs[j].Reaches, g.Device)) {
				apart = append(apart, o+" and "+g.Device)
			}
		}
	}
	if len(hidden) > 0 {
		d.problem(fmt.Sprintf("CUDA does not show %s to this process", strings.Join(hidden, ", ")), "unset CUDA_VISIBLE_DEVICES, or name them in it")
	}
	if len(apart) > 0 {
		d.problem("no direct copies between "+strings.Join(apart, ", "), "rows go through page-locked host memory; put the cards below one PCIe root, or join them by NVLink, if that matters")
	}
}
