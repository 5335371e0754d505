package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/sim"
)

// Each file of testdata/schedules is a scenario, a line "----", and the schedule that follows from it. Scenarios:
//
//	bus NAME RATE                      bytes per ns (GB/s)
//	device NAME RATE [linked[=NEAR]] [peer] [bus=NAME] [latency=NS] [launch=NS] [hop=NS] [slow=TIMES@NS] [lost=OPERATIONS]
//	                                   RATE: bytes per ns, of each direction of the link; NEAR: between a linked device and its host; memory has 1
//	DEVICE.QUEUE work BYTES            a computation that takes as many ns
//	DEVICE.QUEUE upload|download BYTES
//	DEVICE.QUEUE copy BYTES DEVICE     from that device
//	DEVICE.QUEUE fetch BYTES DEVICE... asks each of these devices, by a tenth of so many bytes
//	DEVICE.QUEUE record|wait EVENT
//	now
//
// Queues with a + in front of their names are resident.
//
// Schedules: start, end, device.queue, operation, bytes of copies, in ns; then the faults.
func TestSchedules(t *testing.T) {
	files, err := filepath.Glob("testdata/schedules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			scenario, want, _ := strings.Cut(string(raw), "----\n")
			for range 3 {
				if got := play(t, scenario); got != want {
					t.Fatalf("got\n%swant\n%s", got, want)
				}
			}
		})
	}
}

// stage is a scenario being played.
type stage struct {
	t       *testing.T
	clock   *sim.Clock
	devices map[string]*sim.Device
	buses   map[string]*sim.Bus
	queues  map[string]gpu.Queue
	order   []string // of the queues
	events  map[string]gpu.Event
	out     strings.Builder
}

func play(t *testing.T, scenario string) string {
	s := &stage{t: t, clock: sim.NewClock(), devices: map[string]*sim.Device{}, buses: map[string]*sim.Bus{},
		queues: map[string]gpu.Queue{}, events: map[string]gpu.Event{}}
	s.clock.Trace = func(p sim.Span) {
		fmt.Fprintf(&s.out, "%6d %6d  %s.%s %s", p.Start.Nanoseconds(), p.End.Nanoseconds(), p.Device, p.Queue, p.Op)
		if p.Phase == gpu.PhaseTransfer {
			fmt.Fprintf(&s.out, " %d", p.Bytes)
		}
		fmt.Fprintln(&s.out)
	}
	for _, line := range strings.Split(scenario, "\n") {
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) != "" {
			s.line(strings.Fields(line))
		}
	}
	fmt.Fprintf(&s.out, "end at %d\n", s.clock.Now().Nanoseconds())
	for _, name := range s.order {
		if err := s.queues[name].Sync(); err != nil {
			fmt.Fprintf(&s.out, "%v\n", err)
		}
	}
	return s.out.String()
}

func (s *stage) number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

func (s *stage) line(w []string) {
	switch w[0] {
	case "bus":
		s.buses[w[1]] = &sim.Bus{Name: w[1], BytesPerSec: 1e9 * s.number(w[2])}
	case "device":
		s.device(w[1], s.number(w[2]), w[3:])
	case "now":
		fmt.Fprintf(&s.out, "now %d\n", s.clock.Now().Nanoseconds())
	default:
		s.queue(w)
	}
}

func (s *stage) device(name string, rate float64, options []string) {
	c := sim.Config{Name: name, Clock: s.clock, Memory: 1 << 20,
		Rates: sim.Rates{FlopsPerSec: 1e9, GatherPerSec: 1e9, BytesPerSec: 1e9, H2D: 1e9 * rate, D2H: 1e9 * rate}}
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "linked":
			if c.Linked = true; value != "" {
				c.Rates.Near = 1e9 * s.number(value)
			}
		case "peer":
			c.Peer = true
		case "bus":
			c.Bus = s.buses[value]
		case "latency":
			c.Rates.Latency = s.number(value) / 1e9
		case "launch":
			c.Rates.Launch = s.number(value) / 1e9
		case "hop":
			c.Rates.Hop = s.number(value) / 1e9
		case "lost":
			c.Faults.LostAfter = int(s.number(value))
		case "slow":
			by, from, _ := strings.Cut(value, "@")
			c.Faults.SlowBy, c.Faults.SlowFrom = s.number(by), time.Duration(s.number(from))
		default:
			s.t.Fatalf("option %s", o)
		}
	}
	s.devices[name] = open(s.t, c)
}

func (s *stage) queue(w []string) {
	dev, name, _ := strings.Cut(w[0], ".")
	q, ok := s.queues[w[0]]
	if !ok {
		if q = s.devices[dev].NewQueue(name); strings.HasPrefix(name, "+") {
			q = s.devices[dev].NewResidentQueue(name)
		}
		s.queues[w[0]], s.order = q, append(s.order, w[0])
	}
	block := func(dev string, n int) gpu.Buffer {
		b, err := s.devices[dev].Alloc(gpu.Bytes(n), "rows")
		if err != nil {
			s.t.Fatal(err)
		}
		return b
	}
	n := 0
	if w[1] != "record" && w[1] != "wait" {
		n = int(s.number(w[2]))
	}
	m := gpu.Matrix{Rows: 1, Cols: n / 4, LD: n / 4}
	switch w[1] {
	case "work":
		m.Buf = block(dev, n)
		q.Fill(m, 1)
	case "upload":
		q.Upload(block(dev, n), 0, make([]byte, n))
	case "download":
		q.Download(make([]byte, n), block(dev, n), 0)
	case "copy":
		from := m
		m.Buf, from.Buf = block(dev, n), block(w[3], n)
		q.(gpu.PeerCopier).CopyFrom(m, from)
	case "fetch":
		var parcels []gpu.Parcel
		for _, name := range w[3:] {
			parcels = append(parcels, gpu.Parcel{From: s.devices[name], Ask: gpu.Bytes(n / 10), Answer: gpu.Bytes(n)})
		}
		q.(gpu.ResidentQueue).Fetch(parcels, func() {})
	case "record":
		s.events[w[2]] = q.Record()
	case "wait":
		q.Wait(s.events[w[2]])
	default:
		s.t.Fatalf("command %s", w[1])
	}
}
