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

// clock says when a way that carries one copy after another is free again. The zero clock costs nothing.
type clock struct {
	rate float64 // bytes per second; 0 = unlimited

	mu   sync.Mutex
	busy time.Time
}

// book takes the way for n bytes that are there at ready, after what was booked before, and returns when they are through.
func (c *clock) book(n gpu.Bytes, ready time.Time) time.Time {
	if c.rate == 0 {
		return ready
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy.Before(ready) {
		c.busy = ready
	}
	c.busy = c.busy.Add(time.Duration(float64(n) / c.rate * float64(time.Second)))
	return c.busy
}

// Bus is a way that the links of several devices share: each direction carries its rate, whoever copies. A copy between two
// devices crosses the bus of each, going out of the one and into the other.
type Bus struct {
	sides [2]clock
}

// NewBus returns a bus of so many bytes per second and direction.
func NewBus(bytesPerSec float64) *Bus {
	return &Bus{[2]clock{{rate: bytesPerSec}, {rate: bytesPerSec}}}
}

// rate returns the bytes per second of a direction; 0 = there is no bus.
func (b *Bus) rate() float64 {
	if b == nil {
		return 0
	}
	return b.sides[0].rate
}

// link is the way between a device and the host.
type link struct {
	sides   [2]clock
	latency time.Duration
	bus     *Bus // nil = nothing is shared
}

// set makes the link that a device asks for.
func (l *link) set(s *Spec) {
	l.sides[toDevice].rate, l.sides[fromDevice].rate = s.Link, s.Link
	l.latency, l.bus = s.Latency, s.Bus
}

// book takes the direction for n bytes that are there at ready, after what was booked before, and returns when they have
// arrived.
func (l *link) book(d direction, n gpu.Bytes, ready time.Time) time.Time {
	return l.pass(d, n, ready).Add(l.latency)
}

// pass is book without latency: it returns when the direction is free for what comes next.
func (l *link) pass(d direction, n gpu.Bytes, ready time.Time) time.Time {
	through := l.sides[d].book(n, ready)
	if l.bus != nil {
		through = latest(through, l.bus.sides[d].book(n, ready))
	}
	return through
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
