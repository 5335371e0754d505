//go:build cuda

package cuda

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"capgnn/gpu"
)

// Health is what NVIDIA's management library says of a GPU. What it does not say is 0.
type Health struct {
	UUID                           string
	Model                          string
	Total, Free                    gpu.Bytes
	Generation, Width              int // of the PCIe link, now: idle cards slow it down
	MaxGeneration, MaxWidth        int
	TemperatureCelsius, PowerWatts int
}

// Examine asks the management library about every GPU of the machine, also those that CUDA does not show. It needs no
// driver to be loaded. driver is the version of the kernel driver.
func Examine(o Options) (cards []Health, driver string, err error) {
	lib, err := openNVML(o)
	if err != nil {
		return nil, "", err
	}
	defer lib.Shutdown()
	driver, _ = lib.SystemGetDriverVersion()
	n, r := lib.DeviceGetCount()
	if r != nvml.SUCCESS {
		return nil, driver, fmt.Errorf("NVML: count GPUs: %s", lib.ErrorString(r))
	}
	for i := range n {
		dev, r := lib.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			return nil, driver, fmt.Errorf("NVML: GPU %d: %s", i, lib.ErrorString(r))
		}
		cards = append(cards, examine(dev))
	}
	return cards, driver, nil
}

// openNVML loads the management library. Shutdown gives it back.
func openNVML(o Options) (nvml.Interface, error) {
	var options []nvml.LibraryOption
	if o.NVML != "" {
		options = append(options, nvml.WithLibraryPath(o.NVML))
	}
	lib := nvml.New(options...)
	if r := lib.Init(); r != nvml.SUCCESS {
		return nil, fmt.Errorf("NVML: %s", lib.ErrorString(r))
	}
	return lib, nil
}

// examine asks everything; what fails is not known for this card.
func examine(dev nvml.Device) (h Health) {
	h.UUID, _ = dev.GetUUID()
	h.Model, _ = dev.GetName()
	if m, r := dev.GetMemoryInfo(); r == nvml.SUCCESS {
		h.Total, h.Free = gpu.Bytes(m.Total), gpu.Bytes(m.Free)
	}
	h.Generation, _ = dev.GetCurrPcieLinkGeneration()
	h.Width, _ = dev.GetCurrPcieLinkWidth()
	h.MaxGeneration, _ = dev.GetMaxPcieLinkGeneration()
	h.MaxWidth, _ = dev.GetMaxPcieLinkWidth()
	if t, r := dev.GetTemperature(nvml.TEMPERATURE_GPU); r == nvml.SUCCESS {
		h.TemperatureCelsius = int(t)
	}
	if mw, r := dev.GetPowerUsage(); r == nvml.SUCCESS {
		h.PowerWatts = int(mw+500) / 1000
	}
	return h
}
