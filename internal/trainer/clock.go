package trainer

import (
	"time"

	"capgnn/gpu"
)

// ClockOf returns the clock that all devices share; nil: there is none.
func ClockOf(devices []gpu.Device) (clock gpu.Clock) {
	for i, d := range devices {
		c, ok := d.(gpu.Clocked)
		if !ok || i > 0 && c.Clock() != clock {
			return nil
		}
		clock = c.Clock()
	}
	return clock
}

// Now returns the time that epochs are measured in: that of the devices' clock if they share one, else the host's.
func Now(devices []gpu.Device) time.Duration {
	if clock := ClockOf(devices); clock != nil {
		return clock.Now()
	}
	return HostNow()
}

// started is where the host's time is counted from.
var started = time.Now()

// HostNow returns the host's time.
func HostNow() time.Duration { return time.Since(started) }
