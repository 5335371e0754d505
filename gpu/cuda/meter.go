//go:build cuda

package cuda

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Meter reads what a GPU takes, of NVIDIA's management library. An answer may take milliseconds.
type Meter struct {
	lib nvml.Interface
	dev nvml.Device
}

// OpenMeter opens that of a GPU by its UUID.
func OpenMeter(o Options, uuid string) (*Meter, error) {
	lib, err := openNVML(o)
	if err != nil {
		return nil, err
	}
	dev, r := lib.DeviceGetHandleByUUID(uuid)
	if r != nvml.SUCCESS {
		lib.Shutdown()
		return nil, fmt.Errorf("NVML: %s: %s", uuid, lib.ErrorString(r))
	}
	return &Meter{lib, dev}, nil
}

// Joules returns the energy that the whole card has taken since its driver was loaded.
func (m *Meter) Joules() (float64, error) {
	mj, r := m.dev.GetTotalEnergyConsumption()
	if r != nvml.SUCCESS {
		return 0, fmt.Errorf("NVML: %s", m.lib.ErrorString(r))
	}
	return float64(mj) / 1e3, nil
}

// Busy returns the shares of the driver's last period in which the GPU computed, and in which its memory was read or written; nil: not known.
func (m *Meter) Busy() (gpu, memory *float64) {
	u, r := m.dev.GetUtilizationRates()
	if r != nvml.SUCCESS {
		return nil, nil
	}
	computes, moves := float64(u.Gpu)/100, float64(u.Memory)/100
	return &computes, &moves
}

// Close gives the library back.
func (m *Meter) Close() { m.lib.Shutdown() }
