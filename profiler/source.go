package profiler

import (
	"fmt"
	"slices"

	"capgnn/gpu"
)

// Slowed is implemented by devices that imitate slower ones: each operation takes Slowdown times, at least 1, as long
// as on the hardware. Copies to and from the device are not slowed down.
type Slowed interface {
	Slowdown() float64
}

func slowdown(dev gpu.Device) float64 {
	if s, ok := dev.(Slowed); ok {
		return s.Slowdown()
	}
	return 1
}

// source says where the timings of a device come from: from a device of the same kind, times a factor.
type source struct {
	device int
	factor float64
}

// computing returns the source of every device for what it computes. Devices are of one kind if they are the same one; in
// brief, also if they are of one model and differ in slowdown at most. The least slowed of a kind is measured, of equal ones
// the first with most memory.
func computing(devices []gpu.Device, brief bool) []source {
	kind := make([]string, len(devices))
	for i, d := range devices {
		info := d.Info()
		kind[i] = info.UUID
		if brief {
			kind[i] = fmt.Sprintf("%s|%s|%s|%d", info.Kind, info.Model, info.Variant, info.Threads)
		}
	}
	out := make([]source, len(devices))
	for i := range devices {
		best := -1
		for j := range devices {
			if kind[j] == kind[i] && (best < 0 || preferred(devices[j], devices[best])) {
				best = j
			}
		}
		out[i] = source{best, slowdown(devices[i]) / slowdown(devices[best])}
	}
	return out
}

// preferred reports whether a is measured rather than b, which is of the same kind.
func preferred(a, b gpu.Device) bool {
	if x, y := slowdown(a), slowdown(b); x != y {
		return x < y
	}
	return a.Memory().Budget > b.Memory().Budget
}

// crossing returns the source of every device for what crosses its link or its queues: the first that is the same one.
func crossing(devices []gpu.Device) []source {
	out := make([]source, len(devices))
	for i, d := range devices {
		for j := range devices {
			if devices[j].Info().UUID == d.Info().UUID {
				out[i] = source{j, 1}
				break
			}
		}
	}
	return out
}

// Slowed returns the measurements of a device as if each operation took factor times as long.
func (d DeviceProfile) Slowed(factor float64) DeviceProfile {
	d.MM, d.SpMM, d.IDT = d.MM.times(factor), d.SpMM.times(factor), d.IDT.times(factor)
	for _, list := range []*[]OpTime{&d.Calibration, &d.Beside} {
		*list = slices.Clone(*list)
		for i := range *list {
			if k := &(*list)[i]; !k.crosses() {
				k.Seconds *= factor
			}
		}
	}
	return d
}

// times returns t of an operation that takes factor times as long.
func (t Timing) times(factor float64) Timing {
	t.Mean, t.Std, t.Median = factor*t.Mean, factor*t.Std, factor*t.Median
	return t
}
