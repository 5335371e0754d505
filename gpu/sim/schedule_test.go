package sim

import (
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
)

// flat is a device on which every operation takes its bytes in ns.
type flat struct {
	*Rates
	crowd         float64 // times as long beside others
	asks          float64 // of the time of a copy over the link, what a goroutine needs a processor for
	waits, sleeps float64 // goroutine
}

func (flat) seconds(p *part) float64              { return float64(p.bytes) * 1e-9 }
func (f flat) crowded(*part) float64              { return f.crowd }
func (flat) emulated() bool                       { return true }
func (f flat) goroutine() (waits, sleeps float64) { return f.waits, f.sleeps }
func (f flat) copying(n gpu.Bytes) float64        { return f.asks * float64(n) / f.H2D }

// Devices of one host slow each other down while they compute at the same time, and only then.
func TestHost(t *testing.T) {
	clock, queues, ends := flats(t, &Host{}, "a", "b", "c")
	fill(queues["a"], 100) // 1.5 times as long while one of the two others computes, twice while both do
	fill(queues["b"], 40)
	queues["c"].Upload(nil, 0, make([]byte, 48))
	fill(queues["c"], 40)
	clock.Now()
	// To 48, a and b go at 2/3 and have done 32. From there on all go at half: b ends at 64, a and c have done 40 and 8. Then
	// a and c go at 2/3: c ends at 112, a has done 72 and ends at 140 alone.
	compare(t, ends, map[string][]int64{"a": {140}, "b": {64}, "c": {48, 112}})
}

// Who has waited goes on when a processor is free, or the scheduler interrupts a computation: after 10 ms. Copies over emulated
// links need none.
func TestProcessors(t *testing.T) {
	const ms = 1e6
	clock, queues, ends := flats(t, &Host{Processors: 1}, "a", "b")
	a, b := queues["a"], queues["b"]
	side := b.(*Queue).dev.NewQueue("side")
	a.Upload(nil, 0, make([]byte, 3*ms))
	arrived := a.Record()
	fill(a, 31*ms)
	b.Wait(arrived)
	b.Upload(nil, 0, make([]byte, 5*ms))
	b.Upload(nil, 0, make([]byte, 4*ms))
	side.Wait(b.Record())
	fill(side, 1*ms)
	clock.Now()
	// The event is there at 3, and the copies at 8 and 12, while a computes. What computes next goes on at 22, and takes twice
	// as long beside a, as that does: a has lost 1 ms. (Waits come in the order of their beginnings.)
	compare(t, ends, map[string][]int64{"a": {3 * ms, 35 * ms}, "b": {3 * ms, 22 * ms, 8 * ms, 12 * ms, 24 * ms}})
}

func fill(q gpu.Queue, n int) { q.Fill(gpu.Matrix{Rows: 1, Cols: n / 4, LD: n / 4}, 0) }

// flats opens devices with flat costs on one host, with a queue each, and notes when their operations end, in ns.
func flats(t *testing.T, shared *Host, names ...string) (*Clock, map[string]gpu.Queue, map[string][]int64) {
	t.Helper()
	clock := NewClock()
	ends, queues := map[string][]int64{}, map[string]gpu.Queue{}
	clock.Trace = func(s Span) { ends[s.Device] = append(ends[s.Device], s.End.Nanoseconds()) }
	for _, name := range names {
		queues[name] = openFlat(t, Config{Name: name, Clock: clock, Host: shared}, flat{crowd: 2}).NewQueue("q")
	}
	return clock, queues, ends
}

// openFlat opens a device with flat costs and a link of a byte per ns.
func openFlat(t *testing.T, c Config, costs flat) *Device {
	t.Helper()
	c.Rates = Rates{FlopsPerSec: 1, GatherPerSec: 1, BytesPerSec: 1, H2D: 1e9, D2H: 1e9}
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	costs.Rates = &c.Rates
	d.costs = costs
	return d
}

func compare(t *testing.T, got, want map[string][]int64) {
	t.Helper()
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: ends %v, want %v", name, got[name], want[name])
		}
	}
}

// An event's time is the end of what it was recorded behind, whatever came later and however often the clock was read.
func TestEventTimes(t *testing.T) {
	clock, queues, _ := flats(t, nil, "a", "b")
	a, b := queues["a"], queues["b"]
	nothing := a.Record()
	fill(a, 40)
	first := a.Record()
	fill(a, 60)
	b.Wait(first)
	fill(b, 8)
	waited := b.Record()
	if got := []time.Duration{clock.At(nothing), clock.At(waited), clock.At(first), clock.Now()}; !slices.Equal(got, []time.Duration{0, 48, 40, 100}) {
		t.Errorf("events at %v", got)
	}
	fill(a, 20)
	later := a.Record()
	if got := []time.Duration{clock.At(later), clock.At(first)}; !slices.Equal(got, []time.Duration{120, 40}) {
		t.Errorf("events at %v when the clock has gone on", got)
	}
}
