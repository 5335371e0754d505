package profiler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host"
)

// TestMeasureFake measures devices of known speed: every figure is known in advance.
func TestMeasureFake(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	fast, slow := newFake("cpu:0", c, 1e12), newFake("cpu:1", c, 1e11)
	fast.peer, slow.peer = true, true
	lone := newFake("cpu:2", c, 1e12)
	fast.link = Link{Generation: 4, Width: 16, MaxGeneration: 4, MaxWidth: 16}
	last := 0.0
	opt := Options{Sizes: []int{2048, 1024, 512}, MMLimit: 100 * time.Millisecond, Runs: 6, Warmups: 2, Now: c.read,
		Progress: func(stage string, done float64) {
			if done < last || done > 1 {
				t.Errorf("%s: progress %g after %g", stage, done, last)
			}
			last = done
		}}
	p, err := Measure(t.Context(), []gpu.Device{fast, slow, lone}, opt)
	if err != nil {
		t.Fatal(err)
	}
	// 2·2048³/1e11 = 0.17 s is too slow for cpu:1, 2·1024³/1e11 = 0.021 s is not.
	if p.N != 1024 || p.Entries != 4194 {
		t.Errorf("n = %d, entries %d, want 1024 and round(0.004·n²) = 4194", p.N, p.Entries)
	}
	const n = 1024.0
	for i, dev := range []*fake{fast, slow, lone} {
		d := p.Devices[i]
		for _, tc := range []struct {
			name string
			got  Timing
			want float64
		}{
			{"MM", d.MM, 2 * n * n * n / dev.flops}, {"SpMM", d.SpMM, 20 * 4194 * n / dev.flops}, {"H2D", d.H2D, 4 * n * n / 4e9},
			{"D2H", d.D2H, 4 * n * n / 4e9}, {"IDT", d.IDT, 4 * n * n / 4e10},
		} {
			// the clock counts whole nanoseconds
			if math.Abs(tc.got.Median-tc.want) > 2e-9 || math.Abs(tc.got.Mean-tc.want) > 2e-9 || tc.got.Std > 2e-9 || tc.got.Runs != 6 {
				t.Errorf("%s %s: %+v, want %g s in 6 runs", d.Name, tc.name, tc.got, tc.want)
			}
		}
		if d.FreeBytes != 8<<30 || d.TotalBytes != 9<<30 {
			t.Errorf("%s: %d bytes free of %d", d.Name, d.FreeBytes, d.TotalBytes)
		}
		if dev.used != 0 {
			t.Errorf("%s: %d bytes were not freed", d.Name, dev.used)
		}
		if dev.high > operandBytes(2048) {
			t.Errorf("%s: used %d bytes, operandBytes says %d", d.Name, dev.high, operandBytes(2048))
		}
		gemms := 0
		for _, op := range dev.ops {
			if op == "Gemm" {
				gemms++
			}
		}
		if want := 2 + 2 + 2 + 8; gemms != want { // probes of three sizes, 2 + 6 runs
			t.Errorf("%s: %d dense products, want %d", d.Name, gemms, want)
		}
	}
	if p.Devices[0].Link.Width != 16 || p.Devices[0].Pinned {
		t.Errorf("link %+v, pinned %v", p.Devices[0].Link, p.Devices[0].Pinned)
	}
	if len(p.Pairs) != 6 {
		t.Fatalf("%d pairs, want 6", len(p.Pairs))
	}
	for _, q := range p.Pairs {
		peer := q.From < 2 && q.To < 2
		want := 2 * 4 * n * n / 4e9
		if peer {
			want = 4 * n * n / 4e9 / 2
		}
		if q.Peer != peer || math.Abs(q.Copy.Median-want) > 2e-9 {
			t.Errorf("pair %d → %d: peer %v, %g s, want %v, %g s", q.From, q.To, q.Peer, q.Copy.Median, peer, want)
		}
	}
	if last != 1 {
		t.Errorf("progress ended at %g", last)
	}
	if table := p.Table(); !strings.Contains(table, "cpu:2") || !strings.Contains(table, "peer") || !strings.Contains(table, "PCIe 4.0 × 16") {
		t.Errorf("table lacks rows:\n%s", table)
	}
}

func TestChooseSize(t *testing.T) {
	full := Options{}.resolve().Sizes
	for _, tc := range []struct {
		name   string
		flops  float64
		budget gpu.Bytes
		want   int // 0 = error
	}{
		// the longest product under 2 s: 2·n³/2e12 is 1.55 s at 11585 and 4.4 s at 16384
		{"gpu", 2e12, 1 << 40, 11585},
		{"fast cpu", 1e11, 1 << 40, 4096},
		{"slow cpu", 1e9, 1 << 40, 512},    // 1024 takes 2.1 s
		{"snail", 1e7, 1 << 40, 512},       // 27 s, but there is nothing smaller
		{"small", 1e13, 300 << 20, 2048},   // 4096: 202 MB > 150 MB
		{"tiny", 1e13, 6 << 20, 0},         // 512: 3.2 MB > 3 MB
		{"half", 1e13, 6<<20 + 1<<19, 512}, // 512 in 3.25 MiB
	} {
		c := &clock{}
		dev := newFake("cpu:0", c, tc.flops)
		dev.info.Budget = tc.budget
		got, err := newMeter([]gpu.Device{dev}, Options{Now: c.read}.resolve()).chooseSize(t.Context())
		if got != tc.want || (err != nil) != (tc.want == 0) {
			t.Errorf("%s: n = %d, error %v, want %d", tc.name, got, err, tc.want)
		}
		if err != nil && !strings.Contains(err.Error(), "cpu:0") {
			t.Errorf("%s: error %q does not name the device", tc.name, err)
		}
		// No probe may tie the device up: at most probeSlack × limit and what led there, unless the smallest size does.
		if spent := c.now.Sub(time.Time{}); tc.name != "snail" && spent > 2*2*probeSlack*2*time.Second {
			t.Errorf("%s: probing took %v", tc.name, spent)
		}
	}
	if !slices.IsSortedFunc(full, func(a, b int) int { return b - a }) {
		t.Errorf("sizes %v do not descend", full)
	}
}

func TestMeasureErrors(t *testing.T) {
	for _, op := range []string{"Fill", "Gemm", "Aggregate", "Copy", "Upload", "Download"} {
		c := &clock{}
		dev := newFake("cpu:7", c, 1e12)
		dev.fail = op
		_, err := Measure(t.Context(), []gpu.Device{dev}, Options{Sizes: []int{64}, Now: c.read, Runs: 1, Warmups: 1})
		var fault *gpu.Fault
		if !errors.As(err, &fault) || fault.Op != op || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want its fault on one line", op, err)
		}
		if dev.used != 0 {
			t.Errorf("%s: %d bytes were not freed", op, dev.used)
		}
	}
	if _, err := Measure(t.Context(), nil, Options{}); err == nil {
		t.Error("no devices were accepted")
	}
	c := &clock{}
	dev := newFake("cpu:0", c, 1e12)
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, err := Measure(ctx, []gpu.Device{dev}, Options{Sizes: []int{64}, Now: c.read, Progress: func(string, float64) {
		if runs++; runs == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || runs != 5 || dev.used != 0 {
		t.Errorf("cancelled at call 5: error %v, %d calls, %d bytes left", err, runs, dev.used)
	}
}

func TestPinned(t *testing.T) {
	c := &clock{}
	dev := newFake("cuda:0", c, 1e13)
	dev.info.Kind, dev.info.Model = gpu.CUDA, "NVIDIA GeForce RTX 3090"
	released := 0
	opt := Options{Sizes: []int{256}, Now: c.read, Runs: 2, Warmups: 1, Pinned: func(n gpu.Bytes) ([]byte, func(), error) {
		return make([]byte, n), func() { released++ }, nil
	}}
	last := 0.0
	opt.Progress = func(_ string, done float64) { last = done }
	p, err := Measure(t.Context(), []gpu.Device{dev, newFake("cpu:0", c, 1e12)}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Devices[0]; !d.Pinned || d.PageableH2D == nil || d.PageableD2H == nil || d.Peak == nil {
		t.Errorf("gpu: %+v", d)
	}
	if d := p.Devices[1]; d.Pinned || d.PageableH2D != nil || d.Peak != nil {
		t.Errorf("cpu: %+v", d)
	}
	if released != 2 || last != 1 {
		t.Errorf("released %d times, progress %g", released, last)
	}
	if table := p.Table(); !strings.Contains(table, "pageable") {
		t.Errorf("table has no pageable rates:\n%s", table)
	}
	opt.Pinned = func(gpu.Bytes) ([]byte, func(), error) { return nil, nil, errors.New("no pages") }
	if _, err := Measure(t.Context(), []gpu.Device{dev}, opt); err == nil || !strings.Contains(err.Error(), "no pages") {
		t.Errorf("failing page-locked memory: %v", err)
	}
}

// TestPaperTable puts Table 1 of the paper through the plausibility check: at the size the paper states several cards exceed
// their makers' figures, at its other size none does.
func TestPaperTable(t *testing.T) {
	cards := []struct {
		model   string
		mm, idt float64
	}{
		{"NVIDIA GeForce RTX 3090", 0.1383, 0.0014}, {"NVIDIA A40", 0.1421, 0.0021}, {"NVIDIA GeForce RTX 3060", 0.3439, 0.0038},
		{"NVIDIA GeForce RTX 2060", 0.4972, 0.0033}, {"NVIDIA GeForce GTX 1660 Ti", 0.9938, 0.0057}, {"NVIDIA GeForce GTX 1650", 1.2743, 0.0094},
	}
	implausible := func(n int) []string {
		p := &Profile{N: n}
		for _, c := range cards {
			p.Devices = append(p.Devices, DeviceProfile{
				Name: "x", Model: c.model, MM: Timing{Median: c.mm}, IDT: Timing{Median: c.idt}, Peak: peakOf(c.model),
			})
		}
		return p.Implausible()
	}
	if got := implausible(11585); len(got) > 0 {
		t.Errorf("n = 11585: %v", got)
	}
	got := fmt.Sprint(implausible(16384))
	for _, want := range []string{"1660 Ti): MM at 8.9 TFLOP/s exceeds the published 5.4", "3090): IDT at 1534 GB/s exceeds the published 936"} {
		if !strings.Contains(got, want) {
			t.Errorf("n = 16384: %q is missing in %s", want, got)
		}
	}
	if peakOf("Intel Xeon") != nil {
		t.Error("a CPU has a published peak")
	}
}

// TestMeasureHost profiles real CPU devices quickly.
func TestMeasureHost(t *testing.T) {
	var devices []gpu.Device
	for _, spec := range []host.Spec{{Name: "cpu:0", Threads: 1}, {Name: "cpu:threads=1,link=1GiB/s", Threads: 1, Link: 1 << 30}} {
		dev, err := host.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		devices = append(devices, dev)
	}
	start := time.Now()
	p, err := Measure(t.Context(), devices, Options{Quick: true, Sizes: []int{512, 256}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v\n%s", time.Since(start), p.Table())
	// The link is a busy clock that cannot be faster than it says.
	if rate := p.CopyBytesPerSec(p.Devices[1].H2D); rate > 1<<30 {
		t.Errorf("a link of 1 GiB/s was measured at %g B/s", rate)
	}
	rows, err := p.Match(devices)
	if err != nil || rows[0].Name != "cpu:0" || rows[1].H2D != p.Devices[1].H2D {
		t.Errorf("match: %v", err)
	}
	for _, dev := range devices {
		if used := dev.Memory().Used; used != 0 {
			t.Errorf("%s: %d bytes were not freed", dev.Info().Name, used)
		}
	}
}
