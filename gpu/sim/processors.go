package sim

import "slices"

// Host is a computer whose cores are several devices.
type Host struct {
	// Processors is GOMAXPROCS of the process that they compute in; 0 = more than enough. Threads that compute and goroutines that copy share them
	// fairly. Goroutines that have waited for an event wait for a processor where computations take all of them. Copies over emulated links do not: they
	// take place in the link's time (package host).
	Processors int

	devices []*Device
}

// taken reports whether computations take all processors.
func (h *Host) taken() bool {
	if h == nil || h.Processors == 0 {
		return false
	}
	n := 0
	for _, d := range h.devices {
		if d.computes.busy {
			n += d.threads
		}
	}
	return n >= h.Processors
}

// abreast returns how many of the devices have processors at the same time, at least one: the first ones, as far as there are processors for their threads.
func (h *Host) abreast() int {
	if h.Processors == 0 {
		return len(h.devices)
	}
	n, left := 0, h.Processors
	for _, d := range h.devices {
		if left -= d.threads; n > 0 && left < 0 {
			break
		}
		n++
	}
	return n
}

// turns returns how many devices take turns on a processor of the device's host, at least one.
func (d *Device) turns() float64 {
	h := d.host
	if h == nil || h.Processors == 0 {
		return 1
	}
	threads := 0
	for _, o := range h.devices {
		threads += o.threads
	}
	return max(1, float64(threads)/float64(h.Processors))
}

// beside returns the speed of a computation beside those of other devices of the host, by what they do to its caches and to its memory.
func (f *flow) beside() float64 {
	h := f.q.dev.host
	if h == nil || f.crowd == 0 || !f.held {
		return 1
	}
	others := h.abreast() - 1
	if others == 0 {
		return 1
	}
	busy := 0
	for _, d := range h.devices {
		if d != f.q.dev && d.computes.busy {
			busy++
		}
	}
	return 1 / (1 + (f.crowd-1)*float64(min(busy, others))/float64(others))
}

// allot slows down what is under way on hosts with fewer processors than it asks for.
func (s *schedule) allot() {
	done := map[*Host]bool{}
	for _, f := range s.going {
		h := f.q.dev.host
		if h == nil || h.Processors == 0 || done[h] {
			continue
		}
		done[h] = true
		s.allotOn(h)
	}
}

// allotOn gives the threads that compute and the goroutines that copy on a host equal shares of its processors, but for copies that can do with less: links
// are slower than they.
func (s *schedule) allotOn(h *Host) {
	var copies []float64 // what each asks for
	threads := 0.0
	for _, f := range s.going {
		switch {
		case !f.held || f.q.dev.host != h:
		case f.computes():
			threads += f.threads
		case f.threads > 0:
			copies = append(copies, f.threads*f.speed)
		}
	}
	slices.Sort(copies)
	level, room, sharers := 1.0, float64(h.Processors), threads+float64(len(copies))
	for _, c := range copies {
		if c*sharers > room {
			break
		}
		room, sharers = room-c, sharers-1
	}
	if sharers > 0 {
		level = min(1, room/sharers)
	}
	for _, f := range s.going {
		switch {
		case !f.held || f.q.dev.host != h:
		case f.computes():
			f.speed *= level
		case f.threads*f.speed > level:
			f.speed = level / f.threads
		}
	}
}

// computes reports whether an operation is a computation.
func (n *node) computes() bool { return len(n.uses) == 1 && n.uses[0] == &n.q.dev.computes }
