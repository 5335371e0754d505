package timeline

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
)

// What overlaps is taken apart: later spans give way to earlier ones, waits to all; what lies outside is cut off.
func TestApart(t *testing.T) {
	span := func(op string, phase gpu.Phase, from, to int) gpu.Span {
		return gpu.Span{Op: op, Phase: phase, Start: time.Duration(from), End: time.Duration(to)}
	}
	got := apart([]gpu.Span{span("a", gpu.PhaseMM, -5, 10), span("w", gpu.PhaseWait, 8, 30), span("b", gpu.PhaseTransfer, 20, 40), span("c", gpu.PhaseTransfer, 30, 50), span("d", gpu.PhaseTransfer, 35, 45),
		span("v", gpu.PhaseWait, 60, 80), span("e", gpu.PhaseOther, 70, 120), span("f", gpu.PhaseOther, 130, 140)}, 100)
	want := []gpu.Span{span("a", gpu.PhaseMM, 0, 10), span("w", gpu.PhaseWait, 10, 20), span("b", gpu.PhaseTransfer, 20, 40), span("c", gpu.PhaseTransfer, 40, 50),
		span("v", gpu.PhaseWait, 60, 70), span("e", gpu.PhaseOther, 70, 100)}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var spans []gpu.Span
		for range 50 {
			from := draw.IntN(120) - 10
			spans = append(spans, span("x", gpu.Phase(draw.IntN(int(gpu.PhaseCount))), from, from+draw.IntN(20)))
		}
		at := time.Duration(0)
		for _, s := range apart(spans, 100) {
			if s.Start < at || s.End <= s.Start || s.End > 100 {
				t.Fatalf("%v begins before %v", s, at)
			}
			at = s.End
		}
	}
}

// read is a trace as a reader of the format sees it.
type read struct {
	Unit   string `json:"displayTimeUnit"`
	Other  map[string]float64
	Events []struct {
		Name, Ph, Cat string
		Ts, Dur       float64
		PID, TID      int
		Args          map[string]any
	} `json:"traceEvents"`
}

// work has two queues of every device compute and copy, after each other and at once.
func work(t *testing.T, devices []gpu.Device) {
	t.Helper()
	var done sync.WaitGroup
	for _, d := range devices {
		buf, err := d.Alloc(4*64*64, "x")
		if err != nil {
			t.Fatal(err)
		}
		x := gpu.Matrix{Buf: buf, Rows: 64, Cols: 64, LD: 64}
		compute, copies := d.NewQueue("compute"), d.NewQueue("co\"pies<b>")
		done.Go(func() {
			for range 5 {
				compute.Fill(x, 1)
				compute.Axpby(x, 1, x, 0)
				copies.Wait(compute.Record())
				copies.Download(make([]byte, 4*64*64), buf, 0)
				compute.Wait(copies.Record())
			}
			if compute.Sync() != nil || copies.Sync() != nil {
				t.Error("a queue has a fault")
			}
		})
	}
	done.Wait()
}

// The trace of devices, real ones and simulated ones, is what the format asks for: lanes have names, events of a lane do not overlap and lie in the stretch, which is an event
// itself; each queue's operations are there, once each.
func TestTrace(t *testing.T) {
	open := map[string]func(i int) (gpu.Device, error){}
	open["cpu"] = func(i int) (gpu.Device, error) {
		return host.Open(host.Spec{Name: []string{"cpu:0", "cpu:<1>"}[i], Threads: 1, Memory: 1 << 20, Link: 1e9})
	}
	clock := sim.NewClock()
	open["sim"] = func(i int) (gpu.Device, error) {
		card, err := sim.FindCard("rtx3090")
		if err != nil {
			return nil, err
		}
		return sim.Open(sim.Config{Name: []string{"cpu:0", "cpu:<1>"}[i], Clock: clock, Rates: card.Rates(), Memory: 1 << 20})
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			var devices []gpu.Device
			for i := range 2 {
				d, err := open(i)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				devices = append(devices, d)
			}
			work(t, devices)
			r, err := Begin(devices)
			if err != nil {
				t.Fatal(err)
			}
			work(t, devices)
			line := r.End()
			work(t, devices)
			var out bytes.Buffer
			if err := line.Write(&out, `epoch "3"`); err != nil {
				t.Fatal(err)
			}
			var file read
			if err := json.Unmarshal(out.Bytes(), &file); err != nil {
				t.Fatal(err)
			}
			check(t, line, &file)
		})
	}
}

func check(t *testing.T, line *Timeline, file *read) {
	t.Helper()
	names, at, count := map[[2]int]string{}, map[[2]int]float64{}, map[string]int{}
	whole := line.Duration.Seconds() * 1e6
	for _, e := range file.Events {
		queue := [2]int{e.PID, e.TID}
		switch {
		case e.Ph == "M" && e.Name == "thread_name":
			names[queue] = e.Args["name"].(string)
		case e.Ph == "X" && e.PID == 0:
			if e.Name != `epoch "3"` || e.Ts != 0 || e.Dur < whole-1 || e.Dur > whole+1 {
				t.Errorf("the stretch is %+v, want %v µs", e, whole)
			}
		case e.Ph == "X":
			if names[queue] == "" || e.Ts < at[queue]-1e-3 || e.Dur <= 0 || e.Ts+e.Dur > whole+1e-3 {
				t.Errorf("%+v behind %v of %v µs in %q", e, at[queue], whole, names[queue])
			}
			at[queue] = e.Ts + e.Dur
			if e.Cat != gpu.PhaseWait.String() {
				count[names[queue]+" "+e.Name]++
			}
			if (e.Args["bytes"] == 4.0*64*64) != (e.Name == "Download") {
				t.Errorf("bytes of %+v", e)
			}
		}
	}
	for what, want := range map[string]int{"compute Fill": 10, "compute Axpby": 10, `co"pies<b> Download`: 10} {
		if count[what] != want {
			t.Errorf("%s is there %d times, want %d: %v", what, count[what], want, count)
		}
	}
	if len(names) != 4 || line.Kept != line.Duration || line.Devices[1] != "cpu:<1>" {
		t.Errorf("lanes %v, kept %v of %v", names, line.Kept, line.Duration)
	}
}

// silent is a device that cannot be traced.
type silent struct{ gpu.Device }

func (silent) Info() gpu.Info { return gpu.Info{Name: "silent"} }

// loud is a device that tells of very many spans.
type loud struct {
	gpu.Device
	f func(gpu.Span)
}

func (*loud) Info() gpu.Info { return gpu.Info{Name: "loud"} }

func (l *loud) Trace(_ time.Time, f func(gpu.Span)) { l.f = f }

// Of very many spans the first are kept, and the timeline says until when. A device that cannot be traced is named.
func TestLimits(t *testing.T) {
	if _, err := Begin([]gpu.Device{silent{}}); err == nil || !strings.Contains(err.Error(), "silent cannot say") {
		t.Errorf("silent: %v", err)
	}
	d := &loud{}
	r, err := Begin([]gpu.Device{d})
	if err != nil {
		t.Fatal(err)
	}
	for i := range MaxSpans + 10 {
		d.f(gpu.Span{Start: time.Duration(i), End: time.Duration(i + 1)})
	}
	time.Sleep(time.Millisecond)
	line := r.End()
	if line.Kept != MaxSpans || line.Duration <= line.Kept || len(line.Lanes) != 1 || len(line.Lanes[0].Spans) != MaxSpans || d.f != nil {
		t.Errorf("kept %v of %v in %d lanes", line.Kept, line.Duration, len(line.Lanes))
	}
}
