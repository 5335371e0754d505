package halo

import (
	"time"

	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/jaca"
)

// Endpoint is what exchanges see of a part: its device, the queues that they use of it, which parts it reaches, and what they count.
type Endpoint struct {
	Part     int
	Device   gpu.Device
	Memory   Memory
	Waits    *meet.Waits
	Accounts bool // the device keeps accounts only: no row moves

	Compute  gpu.Queue // everything but copies between devices
	Local    gpu.Queue // halo rows to where they are kept, or used at once
	Prefetch gpu.Queue // halo rows that are used next
	Out      gpu.Queue // rows to the host, the global cache among it
	// Fresh does the work of Local and Out for exchanges whose rows are used in the epoch that makes them, beside others that have an
	// epoch of time: so they do not wait behind these (head-of-line blocking). nil where all exchanges are alike.
	Fresh [2]gpu.Queue

	Peers   []bool // by part: it lives on this very device
	Reach   []bool // by part: this device can copy from its device
	Reached []bool // by part: its device can copy from this one

	stats    jaca.Stats    // of training, since they were taken
	checking time.Duration // the same: in which schedules and versions were looked up
	staged   gpu.Bytes     // of the host's memory, for rows on their way
}

// Memory is where a part's side of exchanges lies, for as long as the run lasts. It keeps its first error; calls behind it do nothing.
type Memory interface {
	// Alloc takes memory of the part's device.
	Alloc(size gpu.Bytes, name string) gpu.Buffer
	// Upload returns a list in memory of the device, behind what the compute queue has been given. The list must stay as it is.
	Upload(name string, list []int32) gpu.Ints
	// Pin returns host memory that the device copies to and from at full speed; nil: there is none.
	Pin(name string, size gpu.Bytes) []byte
}

// Connect finds out which devices reach each other. ends are those of this process, of so many parts: nobody reaches the others. noPeer: only those
// that are one.
func Connect(ends []*Endpoint, parts int, noPeer bool) {
	for _, e := range ends {
		e.Peers, e.Reach, e.Reached = make([]bool, parts), make([]bool, parts), make([]bool, parts)
	}
	for _, e := range ends {
		for _, other := range ends {
			o := other.Part
			e.Peers[o] = other.Device == e.Device
			p, ok := e.Local.(gpu.PeerCopier)
			e.Reach[o] = e.Peers[o] || !noPeer && ok && p.CanCopyFrom(other.Device)
			other.Reached[e.Part] = e.Reach[o]
		}
	}
}

// TakeStats returns what the part's exchanges have counted in training since the last call, and the time in which they looked schedules and
// versions up.
func (e *Endpoint) TakeStats() (jaca.Stats, time.Duration) {
	s, t := e.stats, e.checking
	e.stats, e.checking = jaca.Stats{}, 0
	return s, t
}
