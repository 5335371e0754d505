package host

import (
	"sync"
	"time"

	"capgnn/gpu"
)

// direction is a side of a device's link. Both sides work at the same time.
type direction int

const (
	toDevice direction = iota
	fromDevice
)

// link is the way between a device and the host: a busy clock per direction. The zero link costs nothing.
type link struct {
	rate    float64 // bytes per second; 0 = unlimited
	latency time.Duration

	mu   sync.Mutex
	busy [2]time.Time // when the direction is free again
}

// book takes the direction for n bytes, after what was booked before, and returns when they have arrived.
func (l *link) book(d direction, n gpu.Bytes, now time.Time) time.Time {
	if l.rate == 0 {
		return now.Add(l.latency)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	start := now
	if l.busy[d].After(start) {
		start = l.busy[d]
	}
	l.busy[d] = start.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	return l.busy[d].Add(l.latency)
}

// sleepUntil waits without using a core.
func sleepUntil(t time.Time) {
	if d := time.Until(t); d > 0 {
		time.Sleep(d)
	}
}
