package profiler

import (
	"fmt"

	"capgnn/gpu"
)

// Match returns the measurements of each device, in order. It fails if a device was not profiled: another UUID, kind,
// model, variant (instruction set, architecture) or number of threads is other hardware. The profile may have more
// devices; a device listed twice matches twice.
func (p *Profile) Match(devices []gpu.Device) ([]DeviceProfile, error) {
	out := make([]DeviceProfile, len(devices))
	for i, dev := range devices {
		info := dev.Info()
		found := -1
		for j := range p.Devices {
			if p.Devices[j].is(info) && (found < 0 || p.Devices[j].Name == info.Name) {
				found = j
			}
		}
		if found < 0 {
			return nil, fmt.Errorf("profile of %s: it does not hold %s (%s, %s): measure it with `capgnn profile --devices`, and all others of the run",
				p.Time.Format("2006-01-02 15:04"), info.Name, info.Model, info.Variant)
		}
		out[i] = p.Devices[found]
	}
	return out, nil
}

func (d *DeviceProfile) is(info gpu.Info) bool {
	return d.UUID == info.UUID && d.Kind == info.Kind && d.Model == info.Model && d.Variant == info.Variant && d.Threads == info.Threads
}
