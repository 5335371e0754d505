package profiler

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
)

// measureFake measures devices of a clock as a run does.
func measureFake(t *testing.T, c *clock, opt Options, devices ...gpu.Device) *Profile {
	t.Helper()
	opt.Quick, opt.Calibrate, opt.Now = true, true, c.read
	p, err := Measure(t.Context(), devices, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a device is measured for takes its budget at most and what no profile is without, however slow the device is: a slow
// one is measured at fewer and smaller sizes.
func TestBudget(t *testing.T) {
	const budget = 6 * time.Second
	cases := 0
	for _, flops := range []float64{1e13, 1e11, 1e10, 3e9} {
		c := &clock{}
		p := measureFake(t, c, Options{Budget: budget}, newFake("cpu:0", c, flops))
		took := c.now.Sub(time.Time{})
		n := len(p.Devices[0].Calibration)
		t.Logf("%g flop/s: %v, %d cases, n = %d", flops, took, n, p.N)
		if most := budget + budget/4; took > most {
			t.Errorf("%g flop/s: took %v, want at most %v", flops, took, most)
		}
		if cases > 0 && n > cases {
			t.Errorf("%g flop/s: %d cases were measured, %d on a faster device", flops, n, cases)
		}
		cases = n
		for r := basic; r < usual; r++ {
			for _, k := range calibrationCases(r) {
				if k.Op != "peer" && !slices.ContainsFunc(p.Devices[0].Calibration, func(m OpTime) bool { m.Seconds = 0; return m == k }) {
					t.Errorf("%g flop/s: %+v was not measured", flops, k)
				}
			}
		}
	}
	if all := len(calibrationCases(basic)) + len(calibrationCases(usual)); cases >= all {
		t.Errorf("the slowest device was measured in %d of %d cases", cases, all)
	}
}

// Devices of one kind are measured once, a slowed one from the device that it stands for; what crosses links is each device's own.
func TestKinds(t *testing.T) {
	c := &clock{}
	slow, base, twin, other := newFake("cpu:0", c, 1e11/3), newFake("cpu:1", c, 1e11), newFake("cpu:2", c, 1e11), newFake("cpu:3", c, 1e11)
	slow.slow, other.info.Threads = 3, 2
	p := measureFake(t, c, Options{Budget: 20 * time.Second}, slow, base, twin, other)
	sums := func(d *fake) int { return countOf(d.ops, "ColSum") }
	crowd := sums(slow) // measured beside the others only
	if sums(twin) != crowd || sums(base) <= crowd || sums(other) <= crowd {
		t.Errorf("column sums: %d slowed, %d base, %d twin, %d other", sums(slow), sums(base), sums(twin), sums(other))
	}
	for _, d := range []*fake{slow, twin} {
		if countOf(d.ops, "Upload") == 0 {
			t.Errorf("the link of %s was not measured", d.info.Name)
		}
	}
	if got, want := p.Devices[0].MM.Median, 3*p.Devices[1].MM.Median; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("slowed: MM of %g s, want %g", got, want)
	}
	for i, k := range p.Devices[1].Calibration {
		if got := p.Devices[0].Calibration[i]; !k.crosses() && math.Abs(got.Seconds/(3*k.Seconds)-1) > 1e-9 {
			t.Errorf("slowed: %+v, want three times the %g s of its base", got, k.Seconds)
		}
	}
	if !reflect.DeepEqual(p.Devices[2].MM, p.Devices[1].MM) {
		t.Error("twins differ")
	}
	c = &clock{}
	slow = newFake("cpu:0", c, 1e11/3)
	slow.slow = 3
	full := Options{Quick: true, Now: c.read, Sizes: []int{64}}
	if _, err := Measure(t.Context(), []gpu.Device{slow, newFake("cpu:1", c, 1e11)}, full); err != nil {
		t.Fatal(err)
	}
	if countOf(slow.ops, "Gemm") < 2+6 {
		t.Error("without a budget, a slowed device is not measured itself")
	}
}

func countOf(ops []string, op string) (n int) {
	for _, o := range ops {
		if o == op {
			n++
		}
	}
	return n
}

// A measurement that ends in its middle, by a cancelled context or with half a line written, is gone on with: what was
// measured is not measured again, and the profile is that of a measurement in one go.
func TestGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	start := func(stopAt int) (p *Profile, ops, known int, err error) {
		c := &clock{now: time.Unix(1e9, 0)}
		dev := newFake("cpu:0", c, 1e11)
		notes, err := OpenNotes(path)
		if err != nil {
			t.Fatal(err)
		}
		defer notes.Close()
		known = notes.Len()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		calls := 0
		p, err = Measure(ctx, []gpu.Device{dev}, Options{Quick: true, Calibrate: true, Budget: 6 * time.Second, Now: c.read, Notes: notes,
			Progress: func(string, float64) {
				if calls++; calls == stopAt {
					cancel()
				}
			}})
		if dev.used != 0 {
			t.Errorf("%d bytes stay allocated", dev.used)
		}
		return p, len(dev.ops), known, err
	}
	whole, all, _, err := start(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, at := range []int{3, 20, 100} {
		if _, ops, _, err := start(at); err == nil {
			t.Fatalf("not interrupted at %d", at)
		} else {
			sum += ops
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(`{"what":"nn 435 602 602 0 0 0 u-cpu:0","timings":[{"mea`)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	p, ops, known, err := start(0)
	if err != nil {
		t.Fatal(err)
	}
	sum += ops
	t.Logf("in one go %d operations, in four %d, of which the last %d behind %d measurements", all, sum, ops, known)
	if known < 50 || ops > all*9/10 || sum > all*11/10 {
		t.Errorf("in one go %d operations, in four %d, of which the last %d behind %d measurements", all, sum, ops, known)
	}
	if !reflect.DeepEqual(p, whole) {
		t.Errorf("a measurement that was gone on with differs: %d cases, %d in one go", len(p.Devices[0].Calibration), len(whole.Devices[0].Calibration))
	}
}

// Notes take any file: lines that make no sense are left out.
func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	text := "\n{}\nnull\n[1]\n{\"what\":\"a\"}\n{\"what\":\"b\",\"timings\":[{\"mean_s\":-1,\"median_s\":1,\"runs\":1}]}\n" +
		"{\"what\":\"c\",\"timings\":[{\"mean_s\":1,\"median_s\":1,\"runs\":1}],\"took_s\":2}\n\x00\xff{\"what\":\"d\",\"ti"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := OpenNotes(path)
	if err != nil || n.Len() != 1 || n.spent != 2 || n.get("c")[0].Median != 1 {
		t.Fatalf("%v, %+v", err, n)
	}
	n.put(entry{"e", []Timing{{Mean: 3, Median: 3, Runs: 1}}, 1})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err = OpenNotes(path); err != nil || n.Len() != 2 || n.spent != 3 {
		t.Errorf("%v, %+v", err, n)
	}
	n.file.Close()
	n.put(entry{"f", []Timing{{Mean: 3, Median: 3, Runs: 1}}, 1})
	if n.get("f") == nil || n.Close() == nil {
		t.Error("what cannot be written is lost, or nobody says so")
	}
	for range 2 { // the second as another process would
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenNotes(filepath.Join(path, "below")); err == nil || strings.Contains(fmt.Sprint(err), "\n") {
		t.Errorf("notes without a folder: %v", err)
	}
}
