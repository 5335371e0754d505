package sim

import (
	"testing"

	"capgnn/gpu"
)

// flat is a device on which every operation takes its bytes in ns, and twice that beside others.
type flat struct{ *Rates }

func (flat) seconds(p *part) float64 { return float64(p.bytes) * 1e-9 }
func (flat) crowded(*part) float64   { return 2 }

// Devices of one host slow each other down while they compute at the same time, and only then.
func TestHost(t *testing.T) {
	clock, shared := NewClock(), &Host{}
	ends := map[string][]int64{}
	clock.Trace = func(s Span) { ends[s.Device] = append(ends[s.Device], s.End.Nanoseconds()) }
	queues := map[string]gpu.Queue{}
	for _, name := range []string{"a", "b", "c"} {
		c := Config{Name: name, Clock: clock, Rates: Rates{FlopsPerSec: 1, GatherPerSec: 1, BytesPerSec: 1, H2D: 1e9, D2H: 1e9}, Host: shared}
		d, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		d.costs = flat{&c.Rates}
		queues[name] = d.NewQueue("q")
	}
	fill := func(name string, n int) { queues[name].Fill(gpu.Matrix{Rows: 1, Cols: n / 4, LD: n / 4}, 0) }
	fill("a", 100) // 1.5 times as long while one of the two others computes, twice while both do
	fill("b", 40)
	queues["c"].Upload(nil, 0, make([]byte, 48))
	fill("c", 40)
	clock.Now()
	// To 48, a and b go at 2/3 and have done 32. From there on all go at half: b ends at 64, a and c have done 40 and 8. Then
	// a and c go at 2/3: c ends at 112, a has done 72 and ends at 140 alone.
	for name, want := range map[string][]int64{"a": {140}, "b": {64}, "c": {48, 112}} {
		if len(ends[name]) != len(want) {
			t.Fatalf("%s: ends %v, want %v", name, ends[name], want)
		}
		for i := range want {
			if ends[name][i] != want[i] {
				t.Errorf("%s: ends %v, want %v", name, ends[name], want)
			}
		}
	}
}
