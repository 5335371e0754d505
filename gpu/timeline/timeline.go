package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"capgnn/gpu"
)

// MaxSpans is how many spans are kept: some 20 MB of trace.
const MaxSpans = 100_000

// Recorder listens to devices.
type Recorder struct {
	devices []gpu.Device
	began   time.Time
	zero    map[gpu.Clock]time.Duration

	mu      sync.Mutex
	lanes   map[laneID][]gpu.Span
	heard   int
	dropped time.Duration // when the first span began that was not kept
}

// laneID is a queue: the place of its device, and its number there.
type laneID struct{ device, lane int }

// Timeline is what devices did in a stretch of time.
type Timeline struct {
	Duration time.Duration
	Kept     time.Duration // spans are kept that began before; Duration unless there were more than MaxSpans
	Devices  []string
	Lanes    []Lane // by device and queue; queues that did nothing are left out
}

// Lane is what a queue did.
type Lane struct {
	Device int // place in Devices
	Queue  string
	Spans  []gpu.Span // Start and End count from the beginning
}

// Begin starts listening. It fails where a device cannot say when its operations run.
func Begin(devices []gpu.Device) (*Recorder, error) {
	r := &Recorder{devices: devices, began: time.Now(), zero: map[gpu.Clock]time.Duration{}, lanes: map[laneID][]gpu.Span{}, dropped: -1}
	for _, d := range devices {
		if _, ok := d.(gpu.Traced); !ok {
			return nil, fmt.Errorf("%s cannot say when its operations run", d.Info().Name)
		}
		if c := clockOf(d); c != nil {
			r.zero[c] = c.Now()
		}
	}
	r.began = time.Now()
	for k, d := range devices {
		zero := r.zero[clockOf(d)]
		d.(gpu.Traced).Trace(r.began, func(s gpu.Span) {
			s.Start, s.End = s.Start-zero, s.End-zero
			r.hear(laneID{k, s.Lane}, s)
		})
	}
	return r, nil
}

// clockOf returns the clock of a device's own time, nil where it is the host's.
func clockOf(d gpu.Device) gpu.Clock {
	if c, ok := d.(gpu.Clocked); ok {
		return c.Clock()
	}
	return nil
}

// hear keeps a span.
func (r *Recorder) hear(id laneID, s gpu.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard++; r.heard > MaxSpans {
		if r.dropped < 0 || s.Start < r.dropped {
			r.dropped = s.Start
		}
		return
	}
	r.lanes[id] = append(r.lanes[id], s)
}

// End stops listening and returns what was heard.
func (r *Recorder) End() *Timeline {
	t := &Timeline{Duration: time.Since(r.began)}
	clocks := time.Duration(0)
	for c, zero := range r.zero {
		clocks = max(clocks, c.Now()-zero)
	}
	if len(r.zero) > 0 {
		t.Duration = clocks
	}
	for _, d := range r.devices {
		d.(gpu.Traced).Trace(time.Time{}, nil)
		t.Devices = append(t.Devices, d.Info().Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Kept = t.Duration; r.dropped >= 0 {
		t.Kept = min(t.Kept, r.dropped)
	}
	for id, spans := range r.lanes {
		if spans = apart(spans, t.Kept); len(spans) > 0 {
			t.Lanes = append(t.Lanes, Lane{Device: id.device, Queue: spans[0].Queue, Spans: spans})
		}
	}
	slices.SortFunc(t.Lanes, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Spans[0].Lane, b.Spans[0].Lane))
	})
	return t
}

// apart returns the spans of a lane inside 0 to end that do not overlap: each begins when the one before it has ended, and waits end when something else begins.
func apart(spans []gpu.Span, end time.Duration) (out []gpu.Span) {
	at := time.Duration(0)
	for i, s := range spans {
		s.Start, s.End = max(s.Start, at), min(s.End, end)
		if s.Phase == gpu.PhaseWait && i+1 < len(spans) {
			s.End = min(s.End, max(s.Start, spans[i+1].Start))
		}
		if s.End > s.Start {
			out, at = append(out, s), s.End
		}
	}
	return out
}
