package profiler

import (
	"math"
	"reflect"
	"testing"
)

// A profile of another size has the same rates, and the first one stays as it is.
func TestProfileAtAnotherSize(t *testing.T) {
	once := func(s float64) Timing { return Timing{Mean: s, Median: s, Runs: 1} }
	pageable := once(4e-3)
	p := &Profile{N: 512, Entries: entries(512), Devices: []DeviceProfile{{MM: once(2e-3), SpMM: once(1e-3), H2D: once(5e-4), D2H: once(6e-4), IDT: once(7e-5), PageableH2D: &pageable}},
		Pairs: []Pair{{Copy: once(3e-4)}}}
	gathers := func(p *Profile) float64 { return float64(p.Entries) * float64(p.N) / p.Devices[0].SpMM.Median }
	for _, n := range []int{256, 2048} {
		q := p.At(n)
		a, b := &p.Devices[0], &q.Devices[0]
		for what, rates := range map[string][2]float64{
			"product": {p.FlopsPerSec(a), q.FlopsPerSec(b)}, "gather": {gathers(p), gathers(q)}, "upload": {p.CopyBytesPerSec(a.H2D), q.CopyBytesPerSec(b.H2D)},
			"download": {p.CopyBytesPerSec(a.D2H), q.CopyBytesPerSec(b.D2H)}, "copy inside": {p.CopyBytesPerSec(a.IDT), q.CopyBytesPerSec(b.IDT)},
			"pageable": {p.CopyBytesPerSec(*a.PageableH2D), q.CopyBytesPerSec(*b.PageableH2D)}, "pair": {p.CopyBytesPerSec(p.Pairs[0].Copy), q.CopyBytesPerSec(q.Pairs[0].Copy)},
		} {
			if math.Abs(rates[1]/rates[0]-1) > 1e-12 {
				t.Errorf("%d rows: %s at %g per second, of %d rows at %g", n, what, rates[1], p.N, rates[0])
			}
		}
	}
	if p.N != 512 || p.Devices[0].MM != once(2e-3) || *p.Devices[0].PageableH2D != once(4e-3) || p.Pairs[0].Copy != once(3e-4) {
		t.Errorf("the profile changed: %+v", p)
	}
}

// What crosses a link takes as long on a device whose operations take three times as long, and the first profile stays as it is.
func TestSlowed(t *testing.T) {
	once := func(s float64) Timing { return Timing{Mean: s, Median: s, Runs: 1} }
	list := func(product float64) []OpTime {
		return []OpTime{{Op: "nn", Seconds: product}, {Op: "upload", Bytes: 1, Seconds: 2}, {Op: "hop", Seconds: 3}}
	}
	plain := DeviceProfile{MM: once(1), SpMM: once(2), IDT: once(3), H2D: once(4), D2H: once(5), Calibration: list(1), Beside: list(2)}
	want := DeviceProfile{MM: once(3), SpMM: once(6), IDT: once(9), H2D: once(4), D2H: once(5), Calibration: list(3), Beside: list(6)}
	if got := plain.Slowed(3); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(plain.Calibration, list(1)) {
		t.Errorf("%+v, want %+v; it was %+v", got, want, plain)
	}
}
