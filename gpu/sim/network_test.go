package sim

import (
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
)

// lines returns equal lines between n machines.
func lines(n int, l Line) [][]Line {
	out := make([][]Line, n)
	for i := range out {
		for range n {
			out[i] = append(out[i], l)
		}
	}
	return out
}

// Machines at 1 MB/s and half a second: what one stream carries follows each other without a pause for the latency, streams that leave one interface, or come to one, share it, and directions
// do not disturb each other.
func TestNetwork(t *testing.T) {
	const mb = 1_000_000
	type send struct {
		from, to int
		bytes    gpu.Bytes
		behind   int // the send whose arrival it follows from; -1: none
	}
	for name, c := range map[string]struct {
		sends []send // each by a stream of its machines
		want  []float64
	}{
		"one after the other": {[]send{{0, 1, mb, -1}, {0, 1, mb, -1}, {0, 1, 2 * mb, -1}}, []float64{1.5, 2.5, 4.5}},
		"leaving":             {[]send{{0, 1, mb, -1}, {0, 2, mb, -1}}, []float64{2.5, 2.5}},
		"coming":              {[]send{{0, 2, mb, -1}, {1, 2, 2 * mb, -1}}, []float64{2.5, 3.5}},
		"both ways":           {[]send{{0, 1, mb, -1}, {1, 0, mb, -1}}, []float64{1.5, 1.5}},
		"handed on":           {[]send{{0, 1, mb, -1}, {1, 2, mb, 0}, {0, 1, mb, 1}}, []float64{1.5, 3, 4.5}},
		"in a ring":           {[]send{{0, 1, mb, -1}, {1, 2, mb, -1}, {2, 0, mb, -1}}, []float64{1.5, 1.5, 1.5}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := NewClock()
			net, err := NewNetwork(clock, lines(3, Line{mb, 500 * time.Millisecond}))
			if err != nil {
				t.Fatal(err)
			}
			streams, events := map[[2]int]int{}, []gpu.Event(nil)
			for _, s := range c.sends {
				by, there := streams[[2]int{s.from, s.to}]
				if !there {
					by = net.Open(s.from, s.to)
					streams[[2]int{s.from, s.to}] = by
				}
				var after gpu.Event
				if s.behind >= 0 {
					after = events[s.behind]
				}
				events = append(events, net.Carry(by, s.bytes, after))
			}
			for k, ev := range events {
				if got := clock.At(ev).Seconds(); got < c.want[k]-1e-6 || got > c.want[k]+1e-6 {
					t.Errorf("%+v arrived after %g s, want %g", c.sends[k], got, c.want[k])
				}
			}
		})
	}
}

// A device waits for what arrives, and what it sends waits for the device.
func TestNetworkBetweenDevices(t *testing.T) {
	clock := NewClock()
	net, err := NewNetwork(clock, lines(2, Line{1e6, 250 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	var queues []gpu.Queue
	var buffers []gpu.Buffer
	for range 2 {
		d, err := Open(Config{Name: "d", Clock: clock, Rates: Rates{FlopsPerSec: 1, GatherPerSec: 1, BytesPerSec: 1, H2D: 1e6, D2H: 5e5}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		b, err := d.Alloc(1e6, "rows")
		if err != nil {
			t.Fatal(err)
		}
		queues, buffers = append(queues, d.NewQueue("q")), append(buffers, b)
	}
	host := make([]byte, 1e6)
	queues[0].Download(host, buffers[0], 0) // 2 s
	ev := net.Carry(net.Open(0, 1), 1e6, queues[0].Record())
	queues[1].Wait(ev)
	queues[1].Upload(buffers[1], 0, host) // 1 s
	if got, want := clock.Now(), 4250*time.Millisecond; got != want {
		t.Errorf("rows took %v from device to device, want %v", got, want)
	}
}

func TestNetworkRefuses(t *testing.T) {
	for _, l := range []Line{{0, 0}, {-1, 0}, {1, -1}} {
		if _, err := NewNetwork(NewClock(), lines(2, l)); err == nil || !strings.Contains(err.Error(), "is impossible") {
			t.Errorf("%+v: error %v", l, err)
		}
	}
}
